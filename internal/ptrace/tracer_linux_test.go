package ptrace

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// lockFit locks the calling goroutine to an OS thread that may be a tracer. That is not the main thread, which
// would not end with the goroutine, and no thread that has children (see TestNaturalParentTakesStops). Other
// goroutines keep the unsuitable threads until the test ends.
func lockFit(t *testing.T) {
	t.Helper()
	over, waiters := make(chan struct{}), new(sync.WaitGroup)
	t.Cleanup(func() { close(over); waiters.Wait() })
	for {
		runtime.LockOSThread()
		if ThreadID() != ProcessID() && !HasChildren() {
			return
		}
		runtime.UnlockOSThread()
		kept := make(chan struct{})
		waiters.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			close(kept)
			<-over
		})
		<-kept
	}
}

// tracer is the test's goroutine, locked to an OS thread which ends with the test.
type tracer struct {
	t     *testing.T
	bell  *Bell
	tids  []int
	added map[int]bool
}

// newTracer must be called when the targets have been started, so that they are detached before ptest checks
// them.
func newTracer(t *testing.T) *tracer {
	t.Helper()
	lockFit(t)
	bell, err := NewBell()
	if err != nil {
		t.Fatal(err)
	}
	x := &tracer{t: t, bell: bell, added: map[int]bool{}}
	t.Cleanup(x.letGo)
	return x
}

func (x *tracer) seize(tid int, o Options) {
	x.t.Helper()
	x.must(Seize(tid, o))
	x.add(tid)
}

// add puts a thread on the list of those that are detached in the end.
func (x *tracer) add(tid int) {
	if !x.added[tid] {
		x.added[tid] = true
		x.tids = append(x.tids, tid)
	}
}

func (x *tracer) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// next waits for the next wait status. The bell ends a wait that is in vain.
func (x *tracer) next() Stop {
	x.t.Helper()
	alarm := time.AfterFunc(ptest.Patience, func() { x.bell.Ring() })
	defer alarm.Stop()
	s, err := Wait(true)
	if err != nil {
		x.t.Fatalf("wait: %v", err)
	}
	return s
}

// want waits for the next wait status, which must be this one.
func (x *tracer) want(tid int, kind Kind, sig syscall.Signal) {
	x.t.Helper()
	if s := x.next(); s.TID != tid || s.Kind != kind || s.Signal != sig {
		x.t.Fatalf("thread %d reports %v %d, want thread %d, %v %d", s.TID, s.Kind, s.Signal, tid, kind, sig)
	}
}

// nothing checks that there is no wait status.
func (x *tracer) nothing() {
	x.t.Helper()
	if s, err := Wait(false); err != nil || s.Kind != KindNone {
		x.t.Fatalf("a report: %+v, %v", s, err)
	}
}

// halt stops a thread by an interrupt.
func (x *tracer) halt(tid int) {
	x.t.Helper()
	x.must(Interrupt(tid))
	x.want(tid, KindEventStop, 0)
}

func (x *tracer) regs(tid int) *Regs {
	x.t.Helper()
	r := new(Regs)
	x.must(GetRegs(tid, r))
	return r
}

// letGo detaches the threads that are still traced. ESRCH: the thread is gone.
func (x *tracer) letGo() {
	for _, tid := range x.tids {
		if Detach(tid, 0) == nil || Interrupt(tid) != nil {
			continue
		}
		for s := x.next(); s.TID != tid || !s.Kind.Ended() && Detach(tid, 0) != nil; s = x.next() {
		}
	}
}

// startCat starts a process that waits for lines and prints them. It is not a child of the test.
func startCat(t *testing.T) *ptest.Target {
	t.Helper()
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, "/bin/cat")
	echo(t, g)
	return g
}

// echo checks that cat is running.
func echo(t *testing.T, g *ptest.Target) {
	t.Helper()
	say(t, g)
	if got := g.Line(); got != "hello" {
		t.Fatalf("cat answers %q", got)
	}
}

func say(t *testing.T, g *ptest.Target) {
	t.Helper()
	if _, err := fmt.Fprintln(g.Stdin, "hello"); err != nil {
		t.Fatal(err)
	}
}

// awaitCall waits until a thread of the target sleeps in a system call. Its state is read first: see TestCallOfWakingThread.
func awaitCall(g *ptest.Target, tid, nr int) {
	g.WaitFor(fmt.Sprintf("system call %d", nr), func() bool { return g.ThreadState(tid) == 'S' && systemCall(g.PID, tid) == nr })
}

// systemCall returns the number of the call that a thread sleeps in, or -1.
func systemCall(pid, tid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	if err != nil {
		return -1
	}
	word, _, _ := strings.Cut(string(b), " ")
	nr, err := strconv.Atoi(word)
	if err != nil {
		return -1 // running
	}
	return nr
}
