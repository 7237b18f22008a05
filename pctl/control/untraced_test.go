package control

import (
	"testing"

	"ptools/internal/ptest"
)

// TestUntraced: a process that is made with CLONE_UNTRACED, of which the kernel tells nothing, passes uprobes, and is
// as it was alone. Int3s it dies of: there is no way to see it.
func TestUntraced(t *testing.T) {
	needX86(t)
	for trap, end := range map[Trap]int{TrapUprobe: 0, TrapInt3: 5} {
		t.Run(trap.String(), func(t *testing.T) {
			if trap == TrapUprobe {
				needUprobes(t)
			}
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "untraced.c"))
			g.Ready()
			c := attach(t, g.PID, &Options{Trap: trap})
			if _, err := c.BreakSymbol(bg, "", "in_child", 0, func(*Hit) {}); err != nil {
				t.Fatal(err)
			}
			if _, state := g.Finish(); state.ExitCode() != end {
				t.Errorf("it ends with %v, want status %d, of its child's signal", state, end)
			}
		})
	}
}
