package ptrace

import (
	"runtime"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// startTransfers starts a process whose threads move much data in one call, a little at a time.
func startTransfers(t *testing.T) *ptest.Target {
	t.Helper()
	g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: ptest.NewTruth(t)}, ptest.BuildC(t, "transfers.c"))
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

// traceBriefly seizes threads by a tracer thread, which calls then for each of them, and ends.
func traceBriefly(t *testing.T, tids []int, then func(tid int) error) {
	exits := make(chan *Exit, 1)
	go func() {
		lockFit(t) // and never unlocked: the thread ends with the goroutine
		exit := ThreadExit()
		for _, tid := range tids {
			if err := Seize(tid, 0); err != nil {
				t.Errorf("seize %d: %v", tid, err)
				continue
			}
			if then == nil {
				continue
			}
			if err := then(tid); err != nil {
				t.Errorf("thread %d: %v", tid, err)
			}
		}
		exits <- exit
	}()
	(<-exits).Wait()
}

// TestTracerEndsQuietly: threads that are detached by the end of the tracing thread are not woken. No call returns
// EINTR, or less than it was asked for. After an interrupt calls do so, whether or not the stop was waited for.
func TestTracerEndsQuietly(t *testing.T) {
	g := startTransfers(t)
	for range ptest.Rounds(50, 200, 5000) {
		traceBriefly(t, g.Threads(), nil)
	}
	if n, eintr := shorts(g), g.Truth.EINTR(); n != 0 || eintr != 0 {
		t.Errorf("%d calls came out short, %d with EINTR", n, eintr)
	}
	for _, wait := range []bool{false, true} {
		before := shorts(g)
		for range 5 {
			traceBriefly(t, g.Threads(), func(tid int) error {
				err := Interrupt(tid)
				if err == nil && wait {
					if _, err = WaitTID(tid, true); err == nil {
						err = Detach(tid, 0)
					}
				}
				return err
			})
		}
		if n := shorts(g) - before; n < 5 {
			t.Errorf("interrupted, waited for %v: only %d calls came out short", wait, n)
		}
	}
}

// TestTracerOfStoppedEnds: a process in a group stop stays in it when its tracer ends, whether its threads listen
// or are in the ptrace stop.
func TestTracerOfStoppedEnds(t *testing.T) {
	cat := startCat(t)
	for _, listen := range []bool{true, false} {
		cat.Signal(syscall.SIGSTOP)
		cat.WaitState("T")
		traceBriefly(t, []int{cat.PID}, func(tid int) error {
			s, err := WaitTID(tid, true)
			if err != nil || s.Kind != KindGroupStop {
				t.Errorf("%+v, %v, want a group stop", s, err)
			}
			if listen {
				return Listen(tid)
			}
			return nil
		})
		cat.WaitState("T")
		for range 100 {
			runtime.Gosched()
			if s := cat.State(); s != 'T' {
				t.Fatalf("state %c", s)
			}
		}
		cat.Signal(syscall.SIGCONT)
		echo(t, cat)
	}
}
