package ptrace

import (
	"fmt"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ptools/internal/machine"
	"ptools/internal/ptest"
)

// restartedAt is how far in front of its return address a thread is whose system call a stop has interrupted and will restart.
const restartedAt = 0

// trapCode is the si_code of a trap's SIGTRAP.
const trapCode = SIKernel

// Values that a system call leaves in rax, for the kernel itself, when a signal or a stop interrupts it
// (include/linux/errno.h). All except EINTR make the call continue, or restart, if no handler runs.
const (
	restartSys     = -512
	restartNoHand  = -514
	restartBlock   = -516
	returnsForGood = -int64(syscall.EINTR)
)

// blockedCalls lists kinds of the target blockers, with the system calls that the C library makes for them.
var blockedCalls = []struct {
	kind   string
	nr     int
	result int64
}{
	{"epoll_wait", unix.SYS_EPOLL_WAIT, returnsForGood},
	{"epoll_pwait", unix.SYS_EPOLL_PWAIT, returnsForGood},
	{"semtimedop", unix.SYS_SEMTIMEDOP, returnsForGood},
	{"semop", unix.SYS_SEMTIMEDOP, returnsForGood},
	{"sigtimedwait", unix.SYS_RT_SIGTIMEDWAIT, returnsForGood},
	{"sigwaitinfo", unix.SYS_RT_SIGTIMEDWAIT, returnsForGood},
	{"io_getevents", unix.SYS_IO_GETEVENTS, returnsForGood},
	{"recv SO_RCVTIMEO", unix.SYS_RECVFROM, returnsForGood},
	{"recvfrom", unix.SYS_RECVFROM, restartSys},
	{"accept", unix.SYS_ACCEPT, restartSys},
	{"read pipe", unix.SYS_READ, restartSys},
	{"write pipe", unix.SYS_WRITE, restartSys},
	{"futex", unix.SYS_FUTEX, restartSys},
	{"flock", unix.SYS_FLOCK, restartSys},
	{"mq_timedreceive", unix.SYS_MQ_TIMEDRECEIVE, restartSys},
	{"pselect", unix.SYS_PSELECT6, restartNoHand},
	{"ppoll", unix.SYS_PPOLL, restartNoHand},
	{"msgrcv", unix.SYS_MSGRCV, restartNoHand},
	{"poll", unix.SYS_POLL, restartBlock},
	{"nanosleep", unix.SYS_CLOCK_NANOSLEEP, restartBlock},
	{"futex timed", unix.SYS_FUTEX, restartBlock},
}

// TestInterruptedCalls shows which calls return EINTR after a tracer's stop, and which ones the kernel
// restarts.
func TestInterruptedCalls(t *testing.T) {
	for _, test := range blockedCalls {
		t.Run(test.kind, func(t *testing.T) {
			x, g := startBlocker(t, test.kind)
			if _, regs := x.haltIn(g, test.nr); int64(regs.Result()) != test.result {
				t.Errorf("interrupted with %d, want %d", int64(regs.Result()), test.result)
			}
		})
	}
}

// startBlocker starts a process in which one thread makes one kind of call all the time.
func startBlocker(t *testing.T, kind string) (*tracer, *ptest.Target) {
	t.Helper()
	g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: ptest.NewTruth(t)}, ptest.BuildC(t, "blockers.c"), "-k", kind)
	g.Ready()
	x := newTracer(t)
	for _, tid := range g.Threads() {
		x.seize(tid, 0)
	}
	return x, g
}

// awaitAnyCall waits until some thread of the target sleeps in a system call.
func awaitAnyCall(g *ptest.Target, nr int) (tid int) {
	g.WaitFor(fmt.Sprintf("system call %d", nr), func() bool {
		for _, id := range g.Threads() {
			if systemCall(g.PID, id) == nr {
				tid = id
			}
		}
		return tid != 0
	})
	return tid
}

// haltIn stops a thread in a system call, and returns it with its registers.
func (x *tracer) haltIn(g *ptest.Target, nr int) (int, *Regs) {
	x.t.Helper()
	for {
		tid := awaitAnyCall(g, nr)
		x.must(Interrupt(tid))
		if s := x.next(); s.TID != tid || s.Kind != KindEventStop {
			x.t.Fatalf("%+v, want an event stop of %d", s, tid)
		}
		regs := x.regs(tid)
		if got, result, ok := regs.SyscallReturn(); ok && int(got) == nr && result < 0 && !timedOut(result) {
			return tid, regs
		}
		x.must(Cont(tid, 0)) // it has returned from the call by itself meanwhile
	}
}

// timedOut reports whether a call has ended because its time was up.
func timedOut(result int64) bool {
	return result == -int64(syscall.EAGAIN) || result == -int64(syscall.ETIMEDOUT)
}

// TestRewind: a call that returns EINTR at an interrupt is made again when the thread is moved back in front of
// it, and the program does not notice. Without that it does notice.
func TestRewind(t *testing.T) {
	for _, kind := range []string{"epoll_wait", "semop", "sigtimedwait", "recv SO_RCVTIMEO"} {
		t.Run(kind, func(t *testing.T) {
			x, g := startBlocker(t, kind)
			nr := 0
			for _, row := range blockedCalls {
				if row.kind == kind {
					nr = row.nr
				}
			}
			for range 20 {
				tid, regs := x.haltIn(g, nr)
				if !regs.RestartSyscall() {
					t.Fatal("not at the end of a call")
				}
				x.must(SetRegs(tid, regs))
				x.must(Cont(tid, 0))
			}
			g.AwaitWork(1)
			if n := g.Truth.EINTR(); n != 0 {
				t.Errorf("%d EINTRs", n)
			}
			tid, _ := x.haltIn(g, nr)
			x.must(Cont(tid, 0))
			g.WaitFor("an EINTR", func() bool { return g.Truth.EINTR() == 1 })
		})
	}
}

// TestIgnoredSignalEndsCall: a signal that the program ignores ends such a call of a traced thread, unless the
// tracer moves the thread back. An untraced thread would not notice the signal.
func TestIgnoredSignalEndsCall(t *testing.T) {
	x, g := startBlocker(t, "epoll_wait")
	for _, rewind := range []bool{true, false} {
		tid, regs := x.signalIn(g, unix.SYS_EPOLL_WAIT)
		if int64(regs.Result()) != returnsForGood {
			t.Fatalf("interrupted with %d", int64(regs.Result()))
		}
		if rewind {
			regs.RestartSyscall()
			x.must(SetRegs(tid, regs))
		}
		x.must(Cont(tid, syscall.SIGCHLD))
		g.AwaitWork(1)
		if n := g.Truth.EINTR(); (n == 0) != rewind {
			t.Errorf("rewound: %v: %d EINTRs", rewind, n)
		}
	}
}

// signalIn sends a thread SIGCHLD in a system call, and returns it with its registers.
func (x *tracer) signalIn(g *ptest.Target, nr int) (int, *Regs) {
	x.t.Helper()
	for {
		tid := awaitAnyCall(g, nr)
		x.must(Kill(g.PID, tid, syscall.SIGCHLD))
		x.want(tid, KindSignal, syscall.SIGCHLD)
		regs := x.regs(tid)
		if got, result, ok := regs.SyscallReturn(); ok && int(got) == nr && result < 0 && !timedOut(result) {
			return tid, regs
		}
		x.must(Cont(tid, 0))
	}
}

// TestRemainderIsWritten: a nanosleep that a stop interrupts writes the remaining time, then continues and succeeds.
func TestRemainderIsWritten(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: ptest.NewTruth(t)}, ptest.BuildC(t, "naps.c"))
	g.Ready()
	g.AwaitWork(3)
	if n := g.Truth.Kind(0); n != 0 {
		t.Errorf("alone, %d calls have written what is left", n)
	}
	x := newTracer(t)
	x.seize(g.PID, 0)
	g.WaitFor("a remainder", func() bool {
		x.halt(g.PID)
		x.must(Cont(g.PID, 0))
		return g.Truth.Kind(0) > 0
	})
	if n := g.Truth.EINTR(); n != 0 {
		t.Errorf("%d EINTRs", n)
	}
}

// TestRequeuedFutex: a thread that was moved to another futex waits, after a stop, on the futex that its call
// names.
func TestRequeuedFutex(t *testing.T) {
	for _, stop := range []bool{false, true} {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "requeue.c"))
		g.Ready()
		want := "1 0"
		if stop {
			want = "0 1"
			x := newTracer(t)
			for _, tid := range g.Threads() {
				if tid != g.PID {
					x.seize(tid, 0)
					x.halt(tid)
					x.must(Cont(tid, 0))
					awaitCall(g, tid, unix.SYS_FUTEX)
				}
			}
		}
		g.Stdin.Close()
		if got := g.Line(); got != want {
			t.Errorf("stopped: %v: woken on the second and the first futex: %s, want %s", stop, got, want)
		}
	}
}

// TestRestartNeedsACall: there is nothing to restart outside a system call, and in code that is not a program's.
func TestRestartNeedsACall(t *testing.T) {
	const user64 = 0x33 // code segment
	for name, own := range map[string]machine.Regs{
		"no call": {OrigRax: ^uint64(0), Cs: user64, Rip: 100},
		"kernel":  {OrigRax: 7, Cs: 0x10, Rip: 100},
	} {
		r := Regs{own}
		before := r
		if r.RestartSyscall() || r != before {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r := Regs{machine.Regs{OrigRax: 7, Cs: user64, Rip: 100, Rax: uint64(1<<64 - 4)}}
	before := r
	if !r.RestartSyscall() || !r.AtSyscall(98, 7) {
		t.Errorf("restarted: %+v", r)
	}
	if r.FinishSyscall(returnsForGood); r != before {
		t.Errorf("undone: %+v, want %+v", r, before)
	}
}
