package ptrace

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// TestForkInFlight: the kernel decides whether a child is traced when its creator enters fork(2), and not when the
// child is made. If the creator is seized in between, the child has no tracer, and no event reports it. The child
// exists when its creator stops for the first time. All later children are traced.
func TestForkInFlight(t *testing.T) {
	// The more memory, the longer the fork. It must take longer than we wait for a processor, which depends on the
	// load of the machine.
	for _, mb := range []string{"512", "2048", "8192"} {
		met := false
		t.Run(mb, func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "slowfork.c"), "-m", mb)
			g.Ready()
			met = newTracer(t).meetsFork(g)
		})
		if met || t.Failed() {
			return
		}
	}
	t.Error("the moment between a fork's beginning and the child's appearance was never met")
}

// meetsFork reports whether a few forks were enough to seize a process in the middle of one.
func (x *tracer) meetsFork(g *ptest.Target) bool {
	for range 20 {
		child, inFlight := x.forkInFlight(g)
		x.must(unix.Kill(child, unix.SIGKILL))
		if inFlight {
			x.forkTraced(g)
			return true
		}
		x.must(Detach(g.PID, 0))
	}
	return false
}

// beginFork makes the target fork.
func beginFork(t *testing.T, g *ptest.Target) {
	t.Helper()
	fmt.Fprintln(g.Stdin)
	if line := g.Line(); line != "forking" {
		t.Fatal(line)
	}
}

// forkInFlight seizes a process that begins to fork, and reports whether that was in time. The process is stopped
// then.
func (x *tracer) forkInFlight(g *ptest.Target) (child int, inFlight bool) {
	x.t.Helper()
	children := func() []int {
		pids, err := procfs.Children(g.PID, g.PID)
		x.must(err)
		return pids
	}
	beginFork(x.t, g)
	x.seize(g.PID, OptFork)
	early := len(children()) > 0
	x.must(Interrupt(g.PID))
	for forked := false; child == 0 || !forked; {
		s := x.next()
		switch made := children(); {
		case s.TID != g.PID: // traced: the fork began later
			child = s.TID
			x.must(Detach(child, 0))
		case s.Kind == KindFork:
			forked = true
		case len(made) == 0:
			x.must(Cont(g.PID, 0)) // to a fork that is still to begin
		case early:
			return made[0], false
		default:
			st, err := procfs.ReadStatus(made[0])
			x.must(err)
			if st.TracerPID != 0 {
				x.t.Errorf("child %d has a tracer", made[0])
			}
			x.nothing()
			return made[0], true
		}
	}
	return child, false
}

// forkTraced makes a stopped process fork once more.
func (x *tracer) forkTraced(g *ptest.Target) {
	x.t.Helper()
	x.must(Cont(g.PID, 0))
	x.want(g.PID, KindSignal, unix.SIGCHLD)
	x.must(Cont(g.PID, 0))
	beginFork(x.t, g)
	for range 2 {
		switch s := x.next(); {
		case s.TID == g.PID && s.Kind == KindFork:
		case s.TID != g.PID && s.Kind == KindEventStop:
			x.add(s.TID)
		default:
			x.t.Errorf("a later fork: %+v", s)
		}
	}
}
