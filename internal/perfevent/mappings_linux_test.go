package perfevent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"testing"

	"ptools/internal/ptest"
)

// TestMappings: what a process maps as text is seen by all that watch it, from when they begin, with what the kernel plants no uprobes in.
func TestMappings(t *testing.T) {
	path := ptest.BuildC(t, "twice.c")
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, path)
	g.Ready()
	order := func(orders string) {
		for _, o := range orders {
			io.WriteString(g.Stdin, string(o))
			g.Line()
		}
	}
	open := func(pid int) *Mappings {
		m, err := WatchMappings(pid)
		if errors.Is(err, fs.ErrPermission) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	seen := func(m *Mappings, turn uint64) (n [2]int) {
		list, lost := m.Since(turn)
		if lost {
			t.Error("records are lost")
		}
		for _, r := range list {
			if filepath.Base(r.Path) != filepath.Base(path) {
				t.Errorf("%+v", r)
			}
			if r.Unprobed {
				n[1]++
			} else {
				n[0]++
			}
		}
		return n
	}
	order("mu")
	first, other := open(g.PID), open(1)
	order("mu")
	turn := first.Turn()
	order("susu")
	second := open(g.PID)
	order("wu")
	got := fmt.Sprint(seen(first, 0)[0], seen(first, turn)[0], seen(second, 0), seen(other, 0))
	if got != "1 0 [0 1] [0 0]" || seen(first, turn)[1] == 0 {
		t.Error(got, seen(first, turn))
	}
	for _, m := range []*Mappings{first, other, second} {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
