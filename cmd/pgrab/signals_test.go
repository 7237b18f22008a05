package main

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// TestKilledBetweenSignals: a process that gets signals all the time, and would hang if it lost one,
// gets each signal although the pgrabs that trace it are killed.
func TestKilledBetweenSignals(t *testing.T) {
	t.Parallel()
	random := ptest.Rand(t)
	exe, n := ptest.BuildC(t, "sigstorm.c"), ptest.Rounds(1000, 4000, 4000)
	for left := ptest.Rounds(5, 40, 400); left > 0; {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, exe, "-n", strconv.Itoa(n))
		g.Ready()
		for ; left > 0 && living(g) > 0; left-- {
			p := startPgrab(t, "-q", "-s", "none", "-p", strconv.Itoa(g.PID))
			time.Sleep(time.Duration(random.Int64N(int64(60 * time.Millisecond)))) // any moment will do
			p.Kill()
			p.Wait()
		}
		if out, state := g.Finish(); !state.Success() || out != fmt.Sprintf("done %d\n", 4*n) {
			t.Fatalf("%d kills before the end: %v, printed %q", left, state, out)
		}
	}
}
