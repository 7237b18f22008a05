package ptrace

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestBell: a ring ends a blocked Wait with EINTR, and no Go code sees the signal. That also holds after the
// program has changed the signal's disposition.
func TestBell(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	seen := make(chan os.Signal, 1)
	t.Cleanup(func() { signal.Stop(seen) })
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"as it is", func() {}},
		{"signal.Notify", func() { signal.Notify(seen, BellSignal) }},
		{"signal.Stop", func() { signal.Stop(seen) }},
		{"signal.Ignore", func() { signal.Ignore(BellSignal) }},
		{"signal.Reset", func() { signal.Reset(BellSignal) }},
		{"signal.Notify for all", func() { signal.Notify(seen) }},
	} {
		step.do()
		x.must(x.bell.Install())
		for range 20 {
			x.ring()
		}
		select {
		case sig := <-seen:
			if sig == BellSignal {
				t.Errorf("%s: the program was notified", step.name)
			}
		default:
		}
	}
}

// ring waits until a ring of another goroutine ends the wait. A ring before the wait has begun ends nothing,
// so there is another ring every time the waiting thread is seen not to wait.
func (x *tracer) ring() {
	x.t.Helper()
	answered, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-answered:
				return
			default:
				if systemCall(ProcessID(), x.bell.tid) == unix.SYS_WAIT4 {
					x.bell.Ring()
				}
			}
		}
	}()
	if s, err := Wait(true); err != syscall.EINTR {
		x.t.Errorf("wait: %+v, %v", s, err)
	}
	close(answered)
	<-over
}

// TestBellAmongHandlers: the bell replaces the handler that the Go runtime installs for every signal. That one
// has SA_RESTART, under which wait4 continues. Nothing in package os/signal removes the bell's handler.
func TestBellAmongHandlers(t *testing.T) {
	x := newTracer(t)
	bell, _ := bellAddrs()
	seen := make(chan os.Signal, 1)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"NewBell", func() {}},
		{"Notify", func() { signal.Notify(seen, BellSignal) }},
		{"Stop", func() { signal.Stop(seen) }},
		{"Reset", func() { signal.Reset(BellSignal) }},
		{"Ignore", func() { signal.Ignore(BellSignal) }},
		{"Notify after Ignore", func() { signal.Notify(seen, BellSignal) }},
	} {
		step.do()
		var sa sigaction
		x.must(rtSigaction(BellSignal, nil, &sa))
		if sa.handler != bell || sa.flags != saOnStack|bellFlags {
			t.Errorf("after %s: %+v", step.name, sa)
		}
	}
	signal.Reset(BellSignal)
	x.must(rtSigaction(BellSignal, &sigaction{handler: 1}, nil)) // ignored
	x.must(x.bell.Install())
	var sa sigaction
	x.must(rtSigaction(BellSignal, nil, &sa))
	if sa.handler != bell {
		t.Errorf("after Install: %+v", sa)
	}
}

// TestBellWithFullQueue: the bell works while no more signals can be queued for this user.
func TestBellWithFullQueue(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	var limit unix.Rlimit
	x.must(unix.Getrlimit(unix.RLIMIT_SIGPENDING, &limit))
	x.must(unix.Setrlimit(unix.RLIMIT_SIGPENDING, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	defer unix.Setrlimit(unix.RLIMIT_SIGPENDING, &limit)
	const realTime = 60
	if err := Kill(ProcessID(), ThreadID(), realTime); err != syscall.EAGAIN {
		t.Errorf("a real-time signal: %v", err)
	}
	for range 20 {
		x.ring()
	}
}

// TestBellOfBlockedSignals: the bell works in a program that was started with all signals blocked.
func TestBellOfBlockedSignals(t *testing.T) {
	g := startCat(t)
	lockFit(t)
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		t.Fatal(err)
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	x := newTracer(t)
	x.seize(g.PID, 0)
	x.ring()
	blocked := statusLine(t, ThreadID(), "SigBlk:")
	if want := ^uint64(0) &^ (1<<(BellSignal-1) | 1<<(unix.SIGKILL-1) | 1<<(unix.SIGSTOP-1)); blocked != want {
		t.Errorf("blocked: %#x, want %#x", blocked, want)
	}
}

func statusLine(t *testing.T, tid int, key string) (mask uint64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", tid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), key)
	if _, err := fmt.Sscanf(rest, "%x", &mask); err != nil {
		t.Fatal(err)
	}
	return mask
}
