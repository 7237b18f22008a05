package control

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

var bg = context.Background()

// TestAttachRelease: a counting target is grabbed and released again and again, and counts
// on each time.
func TestAttachRelease(t *testing.T) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth, Foreign: true}, ptest.BuildC(t, "spin.c"))
	g.Ready()
	for range 50 {
		c, err := Attach(bg, g.PID, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(c.Threads()); n != len(g.Threads()) {
			t.Errorf("%d threads, want %d", n, len(g.Threads()))
		}
		release(t, c, ModeRun)
		if p := g.TracerPID(); p != 0 {
			t.Fatalf("still traced by %d", p)
		}
	}
	g.AwaitWork(1)
}

// TestHeld: at a rendezvous nothing moves, requests are served, and Continue resumes the
// target.
func TestHeld(t *testing.T) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth, Foreign: true}, ptest.BuildC(t, "spin.c"))
	g.Ready()
	c := attach(t, g.PID, &Options{Stop: []notify.Point{notify.Grab}})
	if p, ok := c.Held(); !ok || p != notify.Grab {
		t.Fatalf("held at %v, %v", p, ok)
	}
	before := truth.Work()
	for range 100 {
		if err := c.Pause(bg, func(s *Stopped) error {
			if len(s.Threads()) == 0 {
				return errors.New("no threads")
			}
			_, err := s.Threads()[0].Regs()
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if after := truth.Work(); after != before {
		t.Errorf("worked from %d to %d while held", before, after)
	}
	if err := c.Continue(bg); err != nil {
		t.Fatal(err)
	}
	g.AwaitWork(1)
	if err := c.Continue(bg); err != ErrNotHeld {
		t.Errorf("second Continue: %v", err)
	}
}

// TestLook: running threads are visited and run on.
func TestLook(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "busyidle.c"))
	g.Ready()
	c := attach(t, g.PID, nil)
	for range ptest.Rounds(50, 200, 2000) {
		seen := map[int]bool{}
		missed, err := c.LookIf(bg, c.Threads(), nil, nil, func(tid int, r *ptrace.Regs) { seen[tid] = r.PC() != 0 })
		if err != nil || missed != 0 {
			t.Fatalf("missed %d: %v", missed, err)
		}
		if len(seen) != len(c.Threads()) {
			t.Fatalf("saw %d of %d", len(seen), len(c.Threads()))
		}
	}
	if missed, err := c.LookIf(bg, []int{1 << 30}, nil, nil, nil); missed != 1 || err != nil {
		t.Errorf("a thread that does not exist: missed %d, %v", missed, err)
	}
}

// TestOnControl: a request from the control goroutine would wait for itself.
func TestOnControl(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "spin.c"))
	g.Ready()
	c := attach(t, g.PID, nil)
	err := c.Pause(bg, func(*Stopped) error { return c.Continue(bg) })
	if err != ErrOnControl {
		t.Errorf("Continue inside Pause: %v", err)
	}
	if err := c.Pause(bg, func(*Stopped) error { return c.Release(bg, ModeRun) }); err != ErrOnControl {
		t.Errorf("Release inside Pause: %v", err)
	}
}

// TestUndead: the end of the target is reported once, with its status.
func TestUndead(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "spin.c"))
	g.Ready()
	c := attach(t, g.PID, nil)
	s := c.Bus().Subscribe()
	defer s.Close()
	g.Signal(syscall.SIGKILL)
	e := next(t, s)
	if e.Kind != notify.Undead || e.Exited || e.Signal != int(syscall.SIGKILL) {
		t.Errorf("got %+v", e)
	}
	<-c.Done()
	if err := c.Pause(bg, func(*Stopped) error { return nil }); err != ErrEnded {
		t.Errorf("pause of a dead process: %v", err)
	}
}

// TestReleaseStopped: the target is left stopped as by SIGSTOP, or as it was found.
func TestReleaseStopped(t *testing.T) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth, Foreign: true}, ptest.BuildC(t, "spin.c"))
	g.Ready()
	for range 20 {
		c, err := Attach(bg, g.PID, &Options{Stop: []notify.Point{notify.Grab}})
		if err != nil {
			t.Fatal(err)
		}
		work := truth.Work()
		release(t, c, ModeStop)
		g.WaitState("T")
		if truth.Work() != work {
			t.Errorf("it worked on before it stopped")
		}
		// Found stopped, it is left stopped.
		c, err = Attach(bg, g.PID, nil)
		if err != nil {
			t.Fatal(err)
		}
		release(t, c, ModeRun)
		g.WaitState("T")
		g.Signal(syscall.SIGCONT)
		g.AwaitWork(1)
	}
}

// TestGroupStops: a group stop is reported once, though some threads report it when it is
// over, because the control goroutine had other things to do meanwhile.
func TestGroupStops(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "spin.c"), "-t", "12")
	g.Ready()
	c := attach(t, g.PID, nil)
	s := c.Bus().Subscribe(notify.GroupStop, notify.GroupContinue)
	defer s.Close()
	for range ptest.Rounds(5, 20, 400) {
		g.Signal(syscall.SIGSTOP)
		if e := next(t, s); e.Kind != notify.GroupStop {
			t.Fatalf("%v instead of a stop", e.Kind)
		}
		busy, leave, left := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() { left <- c.Do(bg, func() { close(busy); <-leave }) }()
		<-busy
		g.WaitFor("its stop", g.Stopped)
		g.Signal(syscall.SIGCONT)
		close(leave)
		if err := <-left; err != nil {
			t.Fatal(err)
		}
		if e := next(t, s); e.Kind != notify.GroupContinue {
			t.Fatalf("%v instead of the end of the stop", e.Kind)
		}
	}
}

// TestGroupStopAgain: a group stop that begins before all threads have reported the end of
// the last one is reported as well.
func TestGroupStopAgain(t *testing.T) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth, Foreign: true}, ptest.BuildC(t, "spin.c"), "-t", "3")
	g.Ready()
	c := attach(t, g.PID, nil)
	is := func(sig syscall.Signal) func() bool { return func() bool { return c.GroupStop() == sig } }
	for range ptest.Rounds(20, 100, 1000) {
		g.Signal(syscall.SIGSTOP)
		g.WaitFor("the stop to be told", is(syscall.SIGSTOP))
		g.Signal(syscall.SIGCONT)
		g.AwaitWork(1)
		g.Signal(syscall.SIGSTOP)
		g.WaitFor("its stop", g.Stopped)
		g.WaitFor("the second stop to be told", is(syscall.SIGSTOP))
		g.Signal(syscall.SIGCONT)
		g.WaitFor("its end to be told", is(0))
		g.AwaitWork(1)
	}
}
