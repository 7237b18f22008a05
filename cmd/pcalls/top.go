package main

import (
	"fmt"
	"time"

	"ptools/internal/clean"
)

// show prints the table of a second.
func (t *table) show(rows []row, length time.Duration) error {
	var branches []branch
	lines := len(rows)
	if t.s.tree.on() {
		branches = t.s.branches(t.series.Since(t.nodes), nil)
		lines = len(branches)
	}
	width, n := t.s.room(lines)
	of := "process " + t.s.parts[0].name
	if n := len(t.s.parts); n > 1 {
		of = fmt.Sprintf("%d processes", n)
	}
	if t.s.follow {
		of += " and children"
	}
	head := fmt.Sprintf("%s  %s: %d functions called\n", time.Now().Format(time.TimeOnly), clean.Text(of), len(functionsOf(rows)))
	if width > 0 {
		head = clear + head
	}
	if t.s.tree.on() {
		return t.s.printBranches(branches[:n], rowsOf(rows), length, width, head)
	}
	return t.s.printRows(rows[:n], length, width, head)
}
