package tracee

import (
	"slices"
	"testing"
)

// TestPhases: control can end from every phase, and ends once. No phase leads back to an earlier one.
func TestPhases(t *testing.T) {
	for p := PhaseAttaching; p <= PhaseEnded; p++ {
		for next := PhaseAttaching; next <= PhaseEnded; next++ {
			leads := p.leadsTo(next)
			switch {
			case p.Over() && leads, next <= p && leads:
				t.Errorf("%v leads to %v", p, next)
			case !p.Over() && next.Over() && !leads:
				t.Errorf("%v does not lead to %v", p, next)
			}
		}
	}
	c := &Group{Tracer: NewTracer(ModeRun), Trace: NewTrace(10, nil)}
	for _, p := range []Phase{PhaseStarting, PhaseRunning, PhaseEnding, PhaseRunning, PhaseEndDetaching, PhaseStopping, PhaseEnded, PhaseReleased} {
		c.Enter(p)
	}
	var said []string
	for i := range c.Trace.ring {
		said = append(said, c.Trace.ring[i].what())
	}
	want := []string{
		"phase starting", "phase running", "phase ending", "refused phase", "phase end-detaching", "refused phase", "phase ended",
		"refused phase",
	}
	if !slices.Equal(said, want) || c.phase != PhaseEnded {
		t.Errorf("%v: %q", c.phase, said)
	}
}
