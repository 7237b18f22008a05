package control

import (
	"testing"

	"ptools/internal/ptest"
)

// TestTargetsOwnTracees: a target that traces its children itself finds that no other process
// traces them. That holds under breakpoints, at rendezvous, and while it is grabbed and released.
func TestTargetsOwnTracees(t *testing.T) {
	needX86(t)
	for _, test := range []struct {
		name string
		o    Options
		hits bool
	}{
		{"watched", Options{}, false},
		{"int3", Options{Trap: TrapInt3}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			truth := ptest.NewTruth(t)
			g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: truth}, ptest.BuildC(t, "tracers.c"), "-t", "3")
			g.Ready()
			for range ptest.Rounds(3, 8, 60) {
				c, err := Attach(bg, g.PID, &test.o)
				if err != nil {
					t.Fatal(err)
				}
				if test.hits {
					if _, err := c.BreakSymbol(bg, "", "trace_child", 0, func(*Hit) {}); err != nil {
						t.Error(err)
					}
				}
				for range 3 {
					g.AwaitWork(15)
					if err := c.Pause(bg, func(*Stopped) error { return nil }); err != nil {
						t.Error(err)
					}
				}
				release(t, c, ModeRun)
			}
			g.Stdin.Close()
			if out, state := g.Finish(); !state.Success() || truth.Errors() != 0 {
				t.Errorf("%d of %d children could not be traced, or so: %v: %s", truth.Errors(), truth.Work(), state, out)
			}
		})
	}
}
