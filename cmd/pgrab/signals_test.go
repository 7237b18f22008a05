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
	killBetweenSignals(t, ptest.Rounds(5, 20, 400), ptest.Rounds(1000, 4000, 4000), "-s", "none")
}

// TestKilledHoldingSignals: the same where the pgrabs hold all threads, and some are stopped with a signal. A thread
// keeps its signal for as long as it is held.
func TestKilledHoldingSignals(t *testing.T) {
	t.Parallel()
	for _, holding := range [...][]string{
		{"-s", "grab", "-H", "30"},
		{"-w", "-s", "grab"},
		{"-s", "grab", "-H", "30", "--trap", "int3", "-b", "sem_destroy"}, // which nothing calls
	} {
		killBetweenSignals(t, ptest.Rounds(4, 10, 200), 250, holding...)
	}
}

// killBetweenSignals starts pgrabs with args, and kills each at any moment. A target gets n signals of each kind.
func killBetweenSignals(t *testing.T, left, n int, args ...string) {
	random := ptest.Rand(t)
	exe := ptest.BuildC(t, "sigstorm.c")
	for left > 0 {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, exe, "-n", strconv.Itoa(n))
		g.Ready()
		for ; left > 0 && living(g) > 0; left-- {
			p := startPgrab(t, append([]string{"-q", "-p", strconv.Itoa(g.PID)}, args...)...)
			time.Sleep(time.Duration(random.Int64N(int64(60 * time.Millisecond)))) // any moment will do
			p.Kill()
			p.Wait()
		}
		if out, state := g.Finish(); !state.Success() || out != fmt.Sprintf("done %d\n", 4*n) {
			t.Fatalf("%v, %d kills before the end: %v, printed %q", args, left, state, out)
		}
	}
}
