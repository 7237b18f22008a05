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
	for range ptest.Rounds(40, 1000, 10_000) {
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

// TestChildOfVfork: a child of vfork(2) that uses the memory since before the attaching passes the
// breakpoints in it.
func TestChildOfVfork(t *testing.T) {
	needX86(t)
	for _, threads := range []string{"0", "2"} {
		t.Run(threads, func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "vforkwait.c"), "-t", threads)
			g.Ready()
			c := attach(t, g.PID, &Options{Trap: TrapInt3})
			hits := 0
			if _, err := c.BreakSymbol(bg, "", "_exit", 0, func(*Hit) { hits++ }); err != nil {
				t.Fatal(err)
			}
			if out, state := g.Finish(); !state.Success() {
				t.Errorf("it ends with %v, %q", state, out)
			}
			<-c.Done()
			if hits > 1 {
				t.Errorf("%d hits: those of the child are not the target's", hits)
			}
		})
	}
}

// TestReleaseWithoutKcmp: forked children have no traps also where kcmp(2) is denied, as in containers.
func TestReleaseWithoutKcmp(t *testing.T) {
	if !ptest.Without(t, "kcmp") {
		return
	}
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "forkstorm.c"), "-t", "3", "-n", "0")
	g.Ready()
	for range ptest.Rounds(20, 100, 1000) {
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
