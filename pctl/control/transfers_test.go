package control

import (
	"testing"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// startTransfers starts a process whose threads move much in one call, a little at a time.
func startTransfers(t *testing.T, args ...string) *ptest.Target {
	t.Helper()
	g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: ptest.NewTruth(t)}, append([]string{ptest.BuildC(t, "transfers.c")}, args...)...)
	g.Ready()
	return g
}

// shorts returns how many calls of a target have returned less than asked for.
func shorts(g *ptest.Target) (n uint64) {
	for i := range ptest.Kinds {
		n += g.Truth.Kind(i)
	}
	return n
}

// TestReleaseCutsNothing: to be let go no thread is interrupted in what its call transfers.
func TestReleaseCutsNothing(t *testing.T) {
	g := startTransfers(t)
	rounds := ptest.Rounds(50, 200, 5000)
	for range rounds {
		c, err := Attach(bg, g.PID, nil)
		if err != nil {
			t.Fatal(err)
		}
		release(t, c, ModeRun)
		for _, tid := range g.Threads() {
			if p := tracerOf(t, g.PID, tid); p != 0 {
				t.Fatalf("thread %d is still traced by %d", tid, p)
			}
		}
	}
	if n, eintr := shorts(g), g.Truth.EINTR(); n != 0 || eintr != 0 {
		t.Errorf("in %d rounds %d calls of %d came out short, %d with EINTR", rounds, n, g.Truth.Work(), eintr)
	}
}

// tracerOf returns the tracer of one thread.
func tracerOf(t *testing.T, pid, tid int) int {
	t.Helper()
	st, err := procfs.ReadTaskStatus(pid, tid)
	if err != nil {
		t.Fatal(err)
	}
	return st.TracerPID
}
