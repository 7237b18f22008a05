package ptrace

import (
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// stopGroup stops a seized process as an operator does, up to the wait status of the group stop.
func (x *tracer) stopGroup(g *ptest.Target) {
	x.t.Helper()
	g.Signal(syscall.SIGSTOP)
	x.want(g.PID, KindSignal, syscall.SIGSTOP) // on its way: nothing has stopped yet
	x.must(Cont(g.PID, syscall.SIGSTOP))
	x.want(g.PID, KindGroupStop, syscall.SIGSTOP)
}

// TestGroupStop: the stop signal is reported, and its delivery stops the process. Listen keeps the process stopped
// until it gets SIGCONT. That is an event stop, followed by the signal-delivery stop of SIGCONT.
func TestGroupStop(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	x.stopGroup(g)
	var si SigInfo
	x.must(GetSigInfo(g.PID, &si)) // not EINVAL, as it would be after PTRACE_ATTACH
	if want := int32(eventStop<<8) | int32(syscall.SIGSTOP); si.Code != want {
		t.Errorf("si_code of a group stop: %#x, want %#x", si.Code, want)
	}
	x.must(Listen(g.PID))
	x.nothing()
	g.Signal(syscall.SIGCONT)
	x.want(g.PID, KindEventStop, 0)
	x.must(Cont(g.PID, 0))
	x.want(g.PID, KindSignal, syscall.SIGCONT)
	x.must(Cont(g.PID, syscall.SIGCONT))
	echo(t, g)
}

// TestInterruptOfListener: a thread that listens reports its group stop once more after an interrupt, and can be
// looked at then.
func TestInterruptOfListener(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	x.stopGroup(g)
	for range 3 {
		x.must(Listen(g.PID))
		if err := GetRegs(g.PID, new(Regs)); err != syscall.ESRCH {
			t.Errorf("registers of a listening thread: %v", err)
		}
		x.must(Interrupt(g.PID))
		x.want(g.PID, KindGroupStop, syscall.SIGSTOP)
		x.regs(g.PID)
	}
}

// TestContOfGroupStop: with Cont instead of Listen the process runs in spite of the stop signal.
func TestContOfGroupStop(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	x.stopGroup(g)
	x.must(Cont(g.PID, 0))
	echo(t, g)
}

// TestDetachFromGroupStop: the process stays stopped, and no signal has been sent.
func TestDetachFromGroupStop(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	x.stopGroup(g)
	x.must(Detach(g.PID, 0))
	g.WaitState("T")
	if tid := g.TracerPID(); tid != 0 {
		t.Errorf("traced by %d", tid)
	}
	g.Signal(syscall.SIGCONT)
	echo(t, g)
}

// TestDetachWithStopSignal: a stop signal given to Detach stops the process after it is detached.
func TestDetachWithStopSignal(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	g.Signal(syscall.SIGSTOP)
	x.want(g.PID, KindSignal, syscall.SIGSTOP)
	x.must(Detach(g.PID, syscall.SIGSTOP))
	g.WaitState("T")
	g.Signal(syscall.SIGCONT)
	echo(t, g)
}

// TestSeizeOfStopped: a process that is in a group stop when it is seized reports that by itself.
func TestSeizeOfStopped(t *testing.T) {
	g := startCat(t)
	g.Signal(syscall.SIGSTOP)
	g.WaitState("T")
	x := newTracer(t)
	x.seize(g.PID, 0)
	x.want(g.PID, KindGroupStop, syscall.SIGSTOP)
	x.must(Detach(g.PID, 0))
	g.WaitState("T")
	g.Signal(syscall.SIGCONT)
	echo(t, g)
}

// TestOneStopSignalStopsAll: one thread reports SIGSTOP, and every thread reports the group stop, also those that
// are stopped for another reason meanwhile.
func TestOneStopSignalStopsAll(t *testing.T) {
	const n = 5
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "idle.c"), "-t", "4")
	g.Ready()
	x := newTracer(t)
	tids := g.Threads()
	if len(tids) != n {
		t.Fatalf("%d threads", len(tids))
	}
	for _, tid := range tids {
		x.seize(tid, 0)
	}
	held := tids[n-1]
	x.halt(held)
	g.Signal(syscall.SIGSTOP)
	s := x.next()
	if s.Kind != KindSignal || s.Signal != syscall.SIGSTOP || s.TID == held {
		t.Fatalf("first: %+v", s)
	}
	x.must(Cont(s.TID, s.Signal))
	seen := map[int]bool{}
	for len(seen) < n-1 {
		if s := x.next(); s.Kind != KindGroupStop || s.TID == held || seen[s.TID] {
			t.Fatalf("%+v after %v", s, seen)
		} else {
			seen[s.TID] = true
		}
	}
	x.nothing()
	x.must(Cont(held, 0))
	x.want(held, KindGroupStop, syscall.SIGSTOP)
	for _, tid := range tids {
		x.must(Detach(tid, 0))
	}
	g.WaitFor("all threads to be stopped", g.Stopped)
	g.Signal(syscall.SIGCONT)
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("%v: %s", state, out)
	}
}
