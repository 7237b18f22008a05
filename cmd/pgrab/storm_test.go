package main

import (
	"fmt"
	"strconv"
	"testing"

	"ptools/internal/ptest"
)

// visits are the command lines that a storm is exposed to, by turns.
var visits = [][]string{
	{"-q", "-s", "none", "-t", "0"},
	{"-q", "-s", "grab", "-H", "0", "-t", "0"},
	{"-q", "-w", "-s", "grab", "-H", "0", "-t", "0"},
}

// TestStorms: whatever a process is doing, it does not notice that it is
// grabbed, held and let go all the time. It prints what it prints alone, and
// ends in the same way.
func TestStorms(t *testing.T) {
	for _, s := range ptest.Storms {
		t.Run(s.Name, func(t *testing.T) {
			argv, want := s.Alone(t)
			visited := ptest.Weather(ptest.Rounds(1, 4, 100), func() int {
				g := ptest.Start(t, argv...)
				visited := g.Visit(fmt.Sprintf("pgrab: grab %d: ", g.PID), func(round int) (int, string) {
					r := pgrab(t, nil, append([]string{"-p", strconv.Itoa(g.PID)}, visits[round%len(visits)]...)...)
					return r.status, r.stderr
				})
				got, state := g.Finish()
				if got != want || !state.Success() || t.Failed() {
					t.Fatalf("after %d visits: %v, printed %q, alone %q", visited, state, got, want)
				}
				return visited
			})
			t.Logf("%d visits", visited)
		})
	}
}
