package ptrace

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// TestSeizeDoesNotStop: a seized process runs on and reports nothing.
func TestSeizeDoesNotStop(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	if tid := g.TracerPID(); tid != ThreadID() {
		t.Errorf("TracerPid is %d, want the tracing thread %d", tid, ThreadID())
	}
	echo(t, g)
	x.nothing()
}

// TestInterrupt: the stop is PTRACE_EVENT_STOP, and no signal is sent. A system call that the kernel can restart
// continues as if there had been no stop.
func TestInterrupt(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	for range 20 {
		x.halt(g.PID)
		if s := g.State(); s != 't' {
			t.Fatalf("state %c", s)
		}
		x.must(Cont(g.PID, 0))
		echo(t, g)
	}
	x.nothing()
}

// TestNotStopped: requests other than Interrupt need a stop, and fail with ESRCH without one.
func TestNotStopped(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	for name, err := range map[string]error{
		"cont": Cont(g.PID, 0), "detach": Detach(g.PID, 0), "listen": Listen(g.PID),
		"getregs": GetRegs(g.PID, new(Regs)), "setoptions": SetOptions(g.PID, 0),
	} {
		if err != syscall.ESRCH {
			t.Errorf("%s of a running thread: %v", name, err)
		}
	}
	if err := Seize(g.PID, 0); err != syscall.EPERM {
		t.Errorf("a second seize: %v", err)
	}
}

// TestOtherThreadMayNotTrace: the kernel accepts requests only from the seizing thread.
func TestOtherThreadMayNotTrace(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	x.halt(g.PID)
	err := make(chan error)
	go func() { err <- Cont(g.PID, 0) }() // another thread: the test holds this one
	if e := <-err; e != syscall.ESRCH {
		t.Errorf("cont by another thread: %v", e)
	}
	x.must(Cont(g.PID, 0))
	echo(t, g)
}

// TestAnyStopClearsInterrupt: an interrupt that is under way when a thread stops for another reason is not reported
// any more (kernel/signal.c, ptrace_stop).
func TestAnyStopClearsInterrupt(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, OptSysGood)
	x.halt(g.PID)
	x.must(unix.PtraceSyscall(g.PID, 0))
	say(t, g)
	x.want(g.PID, KindSyscall, 0) // the entry of a system call
	x.must(Interrupt(g.PID))
	for range 2 { // its exit, before which the kernel does not look for interrupts, and the entry of the next
		x.must(unix.PtraceSyscall(g.PID, 0))
		x.want(g.PID, KindSyscall, 0)
	}
	x.must(Cont(g.PID, 0))
	if got := g.Line(); got != "hello" {
		t.Errorf("cat answers %q", got)
	}
	echo(t, g)
	x.nothing()
}

// TestInterruptOfAStop: if an interrupt finds the thread in a stop whose wait status has not been consumed, the
// thread reports it when it is resumed from that stop.
func TestInterruptOfAStop(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	g.Signal(syscall.SIGUSR1)
	g.WaitFor("its stop", func() bool { return g.State() == 't' })
	x.must(Interrupt(g.PID))
	x.want(g.PID, KindSignal, syscall.SIGUSR1)
	x.must(Cont(g.PID, 0)) // without the signal, which would kill it
	x.want(g.PID, KindEventStop, 0)
	x.must(Cont(g.PID, 0))
	echo(t, g)
	x.nothing()
}

// TestInterruptComesFirst: if an interrupt and a signal are both due, the interrupt is reported first. Pending
// shows that the signal is still to come.
func TestInterruptComesFirst(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	x.halt(g.PID)
	if p, err := Pending(g.PID, syscall.SIGTRAP); p || err != nil {
		t.Fatalf("pending: %v, %v", p, err)
	}
	x.must(Kill(g.PID, g.PID, syscall.SIGTRAP))
	x.must(Interrupt(g.PID))
	x.must(Cont(g.PID, 0))
	x.want(g.PID, KindEventStop, 0)
	if p, err := Pending(g.PID, syscall.SIGTRAP); !p || err != nil {
		t.Errorf("pending: %v, %v", p, err)
	}
	x.must(Cont(g.PID, 0))
	x.want(g.PID, KindSignal, syscall.SIGTRAP)
	var si SigInfo
	x.must(GetSigInfo(g.PID, &si))
	if si.Signo != int32(syscall.SIGTRAP) || si.Code != -6 { // SI_TKILL
		t.Errorf("siginfo: %+v", si)
	}
	x.must(Cont(g.PID, 0)) // without the signal, which would kill it
	echo(t, g)
}

// TestPendingOfMany: the queue is searched beyond its first page.
func TestPendingOfMany(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	x.halt(g.PID)
	for sig := syscall.Signal(35); sig < 55; sig++ {
		x.must(Kill(g.PID, g.PID, sig))
	}
	for sig := syscall.Signal(35); sig < 60; sig++ {
		if p, err := Pending(g.PID, sig); p != (sig < 55) || err != nil {
			t.Errorf("signal %d: %v, %v", sig, p, err)
		}
	}
	x.must(Cont(g.PID, 0))
	for sig := syscall.Signal(35); sig < 55; sig++ {
		x.want(g.PID, KindSignal, sig)
		x.must(Cont(g.PID, 0))
	}
	echo(t, g)
}

// TestSigMask: a blocked signal stays pending, and is reported when it is unblocked.
func TestSigMask(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	x.halt(g.PID)
	mask, err := SigMask(g.PID)
	x.must(err)
	x.must(SetSigMask(g.PID, mask|1<<(syscall.SIGTERM-1)))
	x.must(Kill(g.PID, g.PID, syscall.SIGTERM))
	x.must(Cont(g.PID, 0))
	echo(t, g)
	x.halt(g.PID)
	if p, err := Pending(g.PID, syscall.SIGTERM); !p || err != nil {
		t.Errorf("pending: %v, %v", p, err)
	}
	x.must(SetSigMask(g.PID, mask))
	x.must(Cont(g.PID, 0))
	x.want(g.PID, KindSignal, syscall.SIGTERM)
	x.must(Cont(g.PID, 0))
	echo(t, g)
}

// TestIgnoredSignalsAreReported: a signal that the process ignores is reported to a tracer (kernel/signal.c,
// sig_ignored). Without a tracer it would not even be queued. It wakes the thread, and a system call that nothing
// restarts returns EINTR.
func TestIgnoredSignalsAreReported(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	for _, sig := range []syscall.Signal{syscall.SIGCHLD, syscall.SIGURG, syscall.SIGWINCH} {
		g.Signal(sig)
		x.want(g.PID, KindSignal, sig)
		x.must(Cont(g.PID, sig))
	}
	echo(t, g)
}

// TestStepOverSyscall: a step over a system call has the si_code TRAP_BRKPT, every other step TRAP_TRACE.
func TestStepOverSyscall(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	awaitCall(g, g.PID, unix.SYS_READ) // which the kernel restarts
	x.halt(g.PID)
	for _, code := range []int32{TrapBrkpt, TrapTrace} {
		x.must(SingleStep(g.PID, 0))
		if code == TrapBrkpt {
			say(t, g)
		}
		x.want(g.PID, KindSignal, syscall.SIGTRAP)
		var si SigInfo
		x.must(GetSigInfo(g.PID, &si))
		if si.Code != code {
			t.Errorf("si_code is %d, want %d", si.Code, code)
		}
	}
	x.must(Cont(g.PID, 0))
	if got := g.Line(); got != "hello" {
		t.Errorf("cat answers %q", got)
	}
}

// TestSignalKeepsItsSiginfo: if Cont is given the signal of the stop, it delivers the siginfo of the stop. The
// target checks that for its own traps, steps and signals.
func TestSignalKeepsItsSiginfo(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "selftrap.c"))
	g.Ready()
	x := newTracer(t)
	x.seize(g.PID, 0)
	for n := 0; ; n++ {
		s := x.next()
		if s.Kind.Ended() {
			if s.Kind != KindExited || s.Code != 0 {
				t.Errorf("ended: %+v", s)
			}
			return
		}
		x.must(Cont(s.TID, s.Signal))
		if n == 200 {
			g.Stdin.Close() // the target's cue
		}
	}
}

// TestVforkParent: a thread in vfork(2) sleeps uninterruptibly. It stops for an interrupt when its child does not
// use the memory any more.
func TestVforkParent(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "vforkwait.c"))
	g.Ready()
	tid := 0
	g.WaitFor("the parent to sleep", func() bool {
		for _, id := range g.Threads() {
			if g.ThreadState(id) == 'D' {
				tid = id
			}
		}
		return tid != 0
	})
	x := newTracer(t)
	x.seize(tid, 0)
	x.must(Interrupt(tid))
	x.nothing()
	if s := g.ThreadState(tid); s != 'D' {
		t.Errorf("state %c", s)
	}
	g.Stdin.Close() // the child's cue
	x.want(tid, KindEventStop, 0)
	x.must(Detach(tid, 0))
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("%v: %s", state, out)
	}
}
