package ptrace

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// elsewhere runs f on a goroutine that is locked to another OS thread, which ends with it.
func elsewhere(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

// traceElsewhere makes another thread seize and interrupt a process, without consuming the wait status, and runs f
// meanwhile. Then that thread detaches the process. got says whether it still got the wait status.
func traceElsewhere(t *testing.T, pid int, f func()) (got bool) {
	t.Helper()
	stopped, looked := make(chan error), make(chan struct{})
	result := make(chan bool)
	go func() {
		lockFit(t)
		err := Seize(pid, 0)
		if err == nil {
			err = Interrupt(pid)
		}
		for err == nil {
			// Until it is in the stop, without consuming the wait status.
			if e := GetRegs(pid, new(Regs)); e == nil {
				break
			} else if e != syscall.ESRCH {
				err = e
			}
			runtime.Gosched()
		}
		stopped <- err
		<-looked
		s, err := Wait(false)
		Detach(pid, 0)
		result <- err == nil && s.Kind == KindEventStop
	}()
	if err := <-stopped; err != nil {
		t.Error(err)
	} else {
		f()
	}
	close(looked)
	return <-result
}

// TestWaitSeesOwnOnly: __WNOTHREAD leaves the tracees of other threads alone.
func TestWaitSeesOwnOnly(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	if !traceElsewhere(t, g.PID, func() {
		if s, err := Wait(false); err != syscall.ECHILD {
			x.t.Errorf("wait of a thread without tracees: %+v, %v", s, err)
		}
	}) {
		t.Error("the tracer's own report is gone")
	}
	echo(t, g)
}

// TestNaturalParentTakesStops: the thread that has forked a process gets the wait statuses of its ptrace stops,
// although another thread of the program traces it. The tracer does not get them then (kernel/exit.c,
// wait_consider_child). So a tracing thread must have no children of its own.
func TestNaturalParentTakesStops(t *testing.T) {
	x := newTracer(t)
	c := fork(t, "/bin/true")
	if traceElsewhere(t, c.PID, func() { x.want(c.PID, KindEventStop, 0) }) {
		t.Error("the tracer got the same report")
	}
}

// TestHostsWaitTakesStops: any thread that waits for the process without __WNOTHREAD also gets the wait statuses,
// even if it only waits for the end, as os/exec does. So a program that always waits for its child takes the stops
// from the tracer, and believes that the child has ended.
func TestHostsWaitTakesStops(t *testing.T) {
	newTracer(t) // its thread is the parent
	c := fork(t, "/bin/true")
	if traceElsewhere(t, c.PID, func() {
		elsewhere(t, func() {
			var info unix.Siginfo
			err := unix.Waitid(unix.P_PID, c.PID, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
			if err != nil || info.Code != cldTrapped {
				t.Errorf("waitid: code %d, %v", info.Code, err)
			}
			var ws unix.WaitStatus
			if pid, err := unix.Wait4(c.PID, &ws, unix.WNOHANG, nil); pid != c.PID || !ws.Stopped() {
				t.Errorf("wait4: %d, %#x, %v", pid, ws, err)
			}
		})
	}) {
		t.Error("the tracer got the same report")
	}
}

// TestPeekLeavesReport: WNOWAIT returns a wait status as often as it is called. Another thread can consume it.
func TestPeekLeavesReport(t *testing.T) {
	x := newTracer(t)
	c := fork(t, "/bin/true")
	x.must(Seize(c.PID, OptExec))
	x.must(c.Exec())
	for _, want := range []Stop{{TID: c.PID, Kind: KindExec}, {TID: c.PID, Kind: KindExited}} {
		for range 3 {
			if s, err := PeekWait(true); s != want || err != nil {
				t.Fatalf("peek: %+v, %v, want %+v", s, err, want)
			}
		}
		x.want(want.TID, want.Kind, 0)
		if want.Kind == KindExec {
			x.must(Cont(c.PID, 0))
		}
	}
	if HasChildren() {
		t.Error("something is left to wait for")
	}
}

// TestPeekDecodesSignals: waitid(2) and wait4(2) agree about an end by a signal.
func TestPeekDecodesSignals(t *testing.T) {
	x := newTracer(t)
	c := fork(t, "/bin/true")
	unix.Kill(c.PID, unix.SIGTERM)
	want := Stop{TID: c.PID, Kind: KindKilled, Signal: syscall.SIGTERM}
	if s, err := PeekWait(true); s != want || err != nil {
		t.Errorf("peek: %+v, %v", s, err)
	}
	if s := x.next(); s != want {
		t.Errorf("wait: %+v", s)
	}
	for _, info := range []struct {
		code   int32
		status uint32
		want   Stop
	}{
		{1, 3, Stop{Kind: KindExited, Code: 3}},
		{2, 9, Stop{Kind: KindKilled, Signal: 9}},
		{3, 11, Stop{Kind: KindKilled, Signal: 11, Core: true}},
		{4, 5 | eventStop<<8, Stop{Kind: KindEventStop}}, // CLD_TRAPPED: the status without its low byte
		{4, 19 | eventStop<<8, Stop{Kind: KindGroupStop, Signal: 19}},
		{4, 5 | 4<<8, Stop{Kind: KindExec}},
		{4, 17, Stop{Kind: KindSignal, Signal: 17}},
	} {
		if s := decodeInfo(0, info.code, info.status); s != info.want {
			t.Errorf("code %d, status %#x: %+v, want %+v", info.code, info.status, s, info.want)
		}
	}
}

// TestDeadLeader: the leader of a living process cannot be seized when it has ended. The other threads can.
func TestDeadLeader(t *testing.T) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: truth}, ptest.BuildC(t, "leaderdead.c"))
	g.Ready()
	x := newTracer(t)
	if err := Seize(g.PID, 0); err != syscall.EPERM {
		t.Errorf("seize of a zombie: %v", err)
	}
	tid := x.otherThread(g)
	x.seize(tid, 0)
	x.halt(tid)
	x.must(Cont(tid, 0))
	g.AwaitWork(1)
}

// TestThreadExitWithoutDescriptor: the end of a thread is seen also without a descriptor, and not before its tracees
// are detached.
func TestThreadExitWithoutDescriptor(t *testing.T) {
	cat := startCat(t)
	for range 50 {
		exits := make(chan *Exit)
		go func() {
			lockFit(t)
			exit := &Exit{tid: ThreadID(), pidfd: -1}
			if err := Seize(cat.PID, 0); err != nil {
				t.Error(err)
			}
			exits <- exit
		}()
		(<-exits).Wait()
		if tid := cat.TracerPID(); tid != 0 {
			t.Fatalf("traced by %d, which has ended", tid)
		}
	}
	echo(t, cat)
}

// TestTracerThreadEnds: when a tracing thread ends, the kernel detaches its tracees, or kills those with
// PTRACE_O_EXITKILL, before the thread's descriptor is ready (PIDFD_THREAD).
func TestTracerThreadEnds(t *testing.T) {
	free, doomed := startCat(t), startCat(t)
	exits, errs := make(chan *Exit, 1), make(chan error, 1)
	go func() {
		lockFit(t) // and never unlocked: the thread ends with the goroutine
		exit := ThreadExit()
		err := Seize(free.PID, 0)
		if err == nil {
			err = Seize(doomed.PID, OptExitKill)
		}
		exits <- exit
		errs <- err
	}()
	exit := <-exits
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	exit.Wait()
	if tid := free.TracerPID(); tid != 0 {
		t.Errorf("traced by %d, which has ended", tid)
	}
	echo(t, free)
	if s := doomed.Wait().Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGKILL {
		t.Errorf("the other one ended with %#x", s)
	}
}

// TestSeizeDuringExec: PTRACE_SEIZE waits for the end of an execve that is under way. The execve waits until the
// other threads of its process are collected. The tracer has to collect those that it traces; any thread of its
// program may do so.
func TestSeizeDuringExec(t *testing.T) {
	exe := ptest.BuildC(t, "execstorm.c")
	x := newTracer(t)
	c := fork(t, exe, "-n", "1", "-t", "1")
	x.must(Seize(c.PID, OptClone))
	x.must(c.Exec())
	first, second := x.next(), x.next() // the clone event and the new thread, in either order
	msg, err := EventMsg(c.PID)
	x.must(err)
	other := int(msg)
	if first.TID != other && second.TID != other {
		t.Fatalf("%+v, %+v: not a word of %d", first, second, other)
	}
	x.must(Cont(other, 0))
	x.must(Detach(c.PID, 0)) // it continues to its execve, which kills the other thread
	if s, err := waitNoCollect(other); err != nil || !s.Kind.Ended() {
		t.Fatalf("the other thread: %+v, %v", s, err)
	}
	collected, seized := make(chan Stop, 1), make(chan struct{})
	tracer := ThreadID()
	go func() {
		for range time.Tick(time.Millisecond) { // until the tracer sleeps in its ptrace call
			select {
			case <-seized:
			default:
				if systemCall(ProcessID(), tracer) != unix.SYS_PTRACE {
					continue
				}
			}
			s, _ := WaitTID(other, false)
			collected <- s
			return
		}
	}()
	err = Seize(c.PID, 0)
	close(seized)
	if s := <-collected; s.TID != other || !s.Kind.Ended() {
		t.Errorf("collected %+v, want the end of %d", s, other)
	}
	if err != nil && err != syscall.EPERM && err != syscall.ESRCH { // it may have ended meanwhile
		t.Errorf("seize: %v", err)
	}
	if s := x.next(); s.TID != c.PID || s.Kind != KindExited || s.Code != 0 {
		t.Errorf("the program: %+v", s)
	}
}

// waitNoCollect waits for the end of thread tid, without collecting it.
func waitNoCollect(tid int) (Stop, error) {
	for {
		if s, err := PeekWait(true); err != nil || s.TID == tid {
			return s, err
		}
	}
}

// TestUnread: if the wait status of a signal-delivery stop has only been looked at, the thread gets the signal when
// its tracer ends (ptrace_stop in kernel/signal.c, whose exit_code a wait takes). If the wait status was consumed,
// the signal is gone. A thread that is resumed drops an unread wait status.
func TestUnread(t *testing.T) {
	for _, read := range []bool{false, true} {
		g := startCat(t)
		var ok error
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			lockFit(t)
			if ok = Seize(g.PID, 0); ok != nil {
				return
			}
			g.Signal(syscall.SIGWINCH)
			want := Stop{TID: g.PID, Kind: KindSignal, Signal: syscall.SIGWINCH}
			if s, err := PeekWait(true); s != want || err != nil {
				t.Errorf("peek: %+v, %v", s, err)
			}
			ok = Cont(g.PID, 0)
			if s, err := PeekWait(false); s.Kind != KindNone || err != nil {
				t.Errorf("a report that was left is found again: %+v, %v", s, err)
			}
			g.Signal(syscall.SIGTERM)
			want.Signal = syscall.SIGTERM
			if s, err := PeekWait(true); s != want || err != nil {
				t.Errorf("peek: %+v, %v", s, err)
			}
			if read {
				WaitTID(g.PID, true)
			}
		}()
		<-ended
		if ok != nil {
			t.Fatal(ok)
		}
		if read {
			echo(t, g)
		} else if state := g.Wait(); state.String() != "signal: terminated" {
			t.Errorf("%v, want its end by SIGTERM", state)
		}
	}
}
