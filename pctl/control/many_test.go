package control

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/tracee"
	"ptools/pctl/notify"
)

// TestPauseOfMany: of many threads, those that sleep are stopped before those that run.
// What the running ones hit meanwhile is reported, even if that stops all threads from
// within. At the end all threads are stopped.
func TestPauseOfMany(t *testing.T) {
	needX86(t)
	eachTrap(t, pauseOfMany)
}

func pauseOfMany(t *testing.T, trap Trap) {
	n := ptest.Rounds(100, 300, 15_000)
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Trap: trap}, ptest.BuildC(t, "busyidle.c"),
		"-b", "2", "-t", "32", "-n", strconv.Itoa(n))
	b, err := c.BreakSymbol(bg, "", "busy_round", 0, func(h *Hit) {
		if h.b.Hits()%50 == 0 {
			h.Hold()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Addrs()) != 1 {
		t.Fatalf("set at %x", b.Addrs())
	}
	s := c.Bus().Subscribe(notify.Stopped)
	defer s.Close()
	if err := c.Continue(bg); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(bg)
	var wg sync.WaitGroup
	wg.Go(func() { pauses(ctx, t, c, int64(b.Addrs()[0])) })
	e := next(t, s)
	for ; !e.Kind.Terminal(); e = next(t, s) {
		if err := c.Continue(bg); err != nil && !errors.Is(err, ErrEnded) {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
	<-c.Done()
	if !e.Exited || e.Code != 0 {
		t.Errorf("ended: %+v\n%s", e, <-out)
	}
	if b.Hits() != uint64(2*n) {
		t.Errorf("%d hits of %d calls", b.Hits(), 2*n)
	}
}

// pauses stops all threads again and again until ctx is done. It checks that each is
// stopped and that the text at addr is the program's own.
func pauses(ctx context.Context, t *testing.T, c *Controller, addr int64) {
	for ctx.Err() == nil {
		c.Pause(ctx, func(s *Stopped) error {
			var raw, shown [1]byte
			c.tracees.Memory.Mem.ReadAt(raw[:], addr)
			s.ReadAt(shown[:], addr)
			if raw != shown && c.opt.Trap == TrapInt3 { // a uprobe stays
				t.Errorf("the text has %#x in place of %#x", raw, shown)
			}
			for _, th := range s.Threads() {
				if _, err := th.Regs(); err != nil && th.t.M.State() == tracee.StateStopped {
					t.Errorf("thread %d: %v", th.TID(), err)
				}
			}
			return nil
		})
	}
}
