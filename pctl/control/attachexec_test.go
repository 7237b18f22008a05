package control

import (
	"errors"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestAttachDuringExec attaches to a program that executes itself all the time, sets
// breakpoints at once and lets go. An exec may have made the new address space and still be
// to be reported: what is planted then is in the program that is said to be new.
func TestAttachDuringExec(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "execstorm.c"), "-t", "2", "-n", "0")
	g.Ready()
	for range ptest.Rounds(300, 1000, 20000) {
		c, err := Attach(bg, g.PID, &Options{Trap: TrapInt3})
		if errors.Is(err, syscall.ESRCH) {
			continue // in the middle of an exec, between two leaders
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"main", "write", "_dl_debug_state"} {
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
