package control

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// TestReleaseStoppedAsleep: a process cannot be stopped because its only thread is in vfork(2). It
// stops when that thread wakes, and the event says that it has not stopped yet.
func TestReleaseStoppedAsleep(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "../handle/testdata/vfork.c"))
	g.Line() // of the child
	c := attach(t, g.PID, nil)
	s := c.Bus().Subscribe(notify.Released)
	defer s.Close()
	release(t, c, ModeStop)
	if e := next(t, s); e.Kind != notify.Released || e.Mode != "stopped" || e.Threads != 1 {
		t.Errorf("told %+v", e)
	}
	if state := g.State(); state != 'D' {
		t.Errorf("state %c while its child runs", state)
	}
	fmt.Fprintln(g.Stdin)
	g.Line() // of the child's program
	g.WaitState("T")
	g.Signal(syscall.SIGCONT)
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("%v: %s", state, out)
	}
}

// TestOwnChildAsleep: a child of this program that cannot be stopped is not waited for either.
func TestOwnChildAsleep(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "../handle/testdata/vfork.c"))
	g.Line() // of the child
	late := time.AfterFunc(20*time.Second, func() {
		t.Error("it is waited for until it wakes")
		fmt.Fprintln(g.Stdin)
	})
	c := attach(t, g.PID, &Options{Stop: []notify.Point{notify.Grab}})
	release(t, c, ModeRun)
	late.Stop()
	fmt.Fprintln(g.Stdin)
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("%v: %s", state, out)
	}
}

// TestReleaseKillOfStopped: a process is released with ModeKill while another process has stopped it.
// It stays stopped. It is killed if it was continued before.
func TestReleaseKillOfStopped(t *testing.T) {
	for _, continued := range []bool{false, true} {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "idle.c"), "-t", "3")
		g.Ready()
		c := attach(t, g.PID, &Options{Mode: ModeKill})
		s := c.Bus().Subscribe(notify.GroupStop, notify.GroupContinue)
		defer s.Close()
		g.Signal(syscall.SIGSTOP)
		if e := next(t, s); e.Kind != notify.GroupStop {
			t.Fatalf("told %+v", e)
		}
		if continued {
			g.Signal(syscall.SIGCONT)
			if e := next(t, s); e.Kind != notify.GroupContinue {
				t.Fatalf("told %+v", e)
			}
		}
		release(t, c, ModeKill)
		e := next(t, s)
		if continued {
			if e.Kind != notify.Undead || e.Signal != int(syscall.SIGKILL) {
				t.Errorf("continued: told %+v", e)
			}
			continue
		}
		if e.Kind != notify.Released || e.Mode != "stopped" {
			t.Errorf("told %+v", e)
		}
		g.WaitFor("its stop", g.Stopped)
		g.Signal(syscall.SIGCONT)
		if out, state := g.Finish(); !state.Success() {
			t.Errorf("%v: %s", state, out)
		}
	}
}

// TestReleaseStoppedStorms: a process is left stopped whatever its threads are about to do, and the
// program notices nothing.
func TestReleaseStoppedStorms(t *testing.T) {
	for _, s := range storms {
		switch s.name {
		case "signals", "traps", "blockers": // they find out that there was a SIGCONT
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			want, state := s.start(t).Finish()
			if !state.Success() {
				t.Fatalf("alone: %v, %s", state, want)
			}
			g := s.start(t)
			rounds := stopAgain(t, g)
			if got, state := g.Finish(); !state.Success() || got != want {
				t.Errorf("%d rounds: %v, printed\n%swant\n%s", rounds, state, got, want)
			}
		})
	}
}

// stopAgain grabs a process, leaves it stopped, and continues it, again and again until it ends. It
// returns how often.
func stopAgain(t *testing.T, g *ptest.Target) (rounds int) {
	for ; ; rounds++ {
		c, err := Attach(bg, g.PID, nil)
		if err != nil {
			if !gone(g.PID) && !errors.Is(err, ErrEnded) {
				t.Errorf("round %d: attach: %v", rounds, err)
			}
			return rounds
		}
		s := c.Bus().Subscribe()
		release(t, c, ModeStop)
		e := next(t, s)
		s.Close()
		if e.Kind != notify.Released {
			return rounds
		}
		if e.Mode != "stopped" {
			t.Errorf("round %d: told %+v", rounds, e)
		}
		if e.Threads == 0 {
			g.WaitFor("its stop", g.Stopped)
		} else {
			g.WaitState("TX")
		}
		g.Signal(syscall.SIGCONT)
	}
}
