package control

import (
	"testing"

	"ptools/internal/ptest"
)

// TestReleaseWhileForking lets go of a program just when it forks: its children have the traps that
// leave its own text.
func TestReleaseWhileForking(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "forkstorm.c"), "-t", "3", "-n", "0")
	g.Ready()
	for range ptest.Rounds(300, 1000, 20000) {
		c := attach(t, g.PID, &Options{Trap: TrapInt3})
		for _, name := range []string{"in_child", "_exit", "write"} {
			if _, err := c.BreakSymbol(bg, "", name, 0, func(*Hit) {}); err != nil {
				t.Error(err)
			}
		}
		release(t, c, ModeRun)
	}
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("it ends with %v, %q", state, out)
	}
}
