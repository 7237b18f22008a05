package control

import (
	"slices"
	"testing"
)

// TestPhases: control ends once, and from every phase; nothing goes back.
func TestPhases(t *testing.T) {
	for p := phaseAttaching; p <= phaseEnded; p++ {
		for next := phaseAttaching; next <= phaseEnded; next++ {
			leads := p.leadsTo(next)
			switch {
			case p.over() && leads, next <= p && leads:
				t.Errorf("%v leads to %v", p, next)
			case !p.over() && next.over() && !leads:
				t.Errorf("%v does not lead to %v", p, next)
			}
		}
	}
	c := &tracees{trace: NewTrace(10, nil)}
	for _, p := range []phase{phaseStarting, phaseRunning, phaseEnding, phaseRunning, phaseEndDetaching, phaseStopping, phaseEnded, phaseReleased} {
		c.enter(p)
	}
	var said []string
	for i := range c.trace.ring {
		said = append(said, c.trace.ring[i].what())
	}
	want := []string{
		"phase starting", "phase running", "phase ending", "refused phase", "phase end-detaching", "refused phase", "phase ended",
		"refused phase",
	}
	if !slices.Equal(said, want) || c.phase != phaseEnded {
		t.Errorf("%v: %q", c.phase, said)
	}
}
