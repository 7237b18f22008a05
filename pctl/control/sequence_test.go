package control

import (
	"errors"
	"testing"

	"ptools/internal/ptest"
)

// TestRestartable: no breakpoint is set inside a restartable sequence, where each hit would
// abort the sequence. Behind it one is set, and the program ends as it does alone.
func TestRestartable(t *testing.T) {
	needX86(t)
	for _, flag := range []string{"-pie", "-no-pie"} {
		t.Run(flag, func(t *testing.T) {
			eachTrap(t, func(t *testing.T, trap Trap) {
				g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "rseq.c", flag))
				g.Ready()
				c := attach(t, g.PID, &Options{Trap: trap})
				b, err := c.BreakSymbol(bg, "", "behind_sequence", 0, func(*Hit) {})
				if err != nil || len(b.Addrs()) != 1 {
					t.Fatalf("behind it: %v, set at %d places", err, len(b.Addrs()))
				}
				if _, err := c.BreakSymbol(bg, "", "in_sequence", 0, nil); !errors.Is(err, ErrRestartable) {
					t.Errorf("in it, by symbol: %v", err)
				}
				if _, err := c.Break(bg, b.Addrs()[0]-1, func(*Hit) {}); !errors.Is(err, ErrRestartable) {
					t.Errorf("in it, by address: %v", err)
				}
				if out, state := g.Finish(); !state.Success() {
					t.Errorf("%v: %s", state, out)
				}
				if b.Hits() != 1 {
					t.Errorf("behind it %d hits", b.Hits())
				}
			})
		})
	}
}
