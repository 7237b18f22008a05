package main

import (
	"slices"
	"strings"

	"ptools/pctl"
)

// pastPoint notes which stop points of a program are still ahead. They are passed at the program's start, or never.
func (t *target) pastPoint(e pctl.Event) {
	switch e.Kind {
	case pctl.KindCreated, pctl.KindExec:
		t.ahead = slices.DeleteFunc(slices.Clone(t.stop), func(p pctl.Point) bool {
			return p != pctl.PointPreinit && p != pctl.PointPostinit && p != pctl.PointMain
		})
	case pctl.KindStopped:
		t.ahead = slices.DeleteFunc(t.ahead, func(p pctl.Point) bool { return p == e.Point })
	}
}

// tellAhead reports the stop points that the program has not reached.
func (t *target) tellAhead() {
	if len(t.ahead) == 0 {
		return
	}
	var names []string
	for _, p := range t.ahead {
		names = append(names, p.String())
	}
	t.note("never stopped at " + strings.Join(names, ", ") + ": not reached, or the program does not show where its main is")
}
