package pctl

import (
	"fmt"
	"strconv"
	"time"

	"ptools/internal/procfs"
)

// WaitKind says what a thread waits for.
type WaitKind uint8

const (
	// WaitNothing: it runs, or is in a system call that is not known to wait.
	WaitNothing WaitKind = iota
	// WaitLock: a mutex or read-write lock (Wait.Lock).
	WaitLock
	// WaitThread: the end of a thread (Wait.Lock.Owner).
	WaitThread
	// WaitFutex: something else that is made of a futex, which has no owner (Wait.Lock.Kind).
	WaitFutex
	// WaitFile: data of Wait.File, or room in it.
	WaitFile
	// WaitEvents: one of several descriptors, or a signal.
	WaitEvents
	// WaitChild: a child process; Wait.Child, 0 for any.
	WaitChild
	// WaitTime: time to pass.
	WaitTime
)

var waitKinds = [...]string{"nothing", "lock", "thread", "futex", "file", "events", "child", "time"}

func (k WaitKind) String() string {
	if int(k) < len(waitKinds) {
		return waitKinds[k]
	}
	return "wait " + strconv.Itoa(int(k))
}

// Wait is what a thread waited for when it was stopped.
type Wait struct {
	Kind  WaitKind
	Lock  Lock
	File  OpenFile
	Child int // WaitChild: the process, 0: any
	// Timeout is how long WaitEvents waits at most, if the call's registers say it. 0: without a limit, or not known.
	Timeout time.Duration
}

// Wait returns what the thread waited for when it was stopped. The owner of a lock comes from memory that
// Snapshot.CopyStacks has copied. Files and the ends of pipes are looked up at this call. No owner is
// guessed: if the lock does not name one, Lock.Why says why.
func (t *Thread) Wait() Wait { return Waits([]*Thread{t})[t.TID] }

// Waits returns Thread.Wait of many threads of one process, by thread number. It costs little more than
// that of a few.
func Waits(threads []*Thread) map[int]Wait {
	waits := make(map[int]Wait, len(threads))
	if len(threads) == 0 {
		return waits
	}
	q := inquiry{p: threads[0].p, owners: make(map[int]owner), places: make(map[uint64]lockPlace)}
	for _, t := range threads {
		waits[t.TID] = q.wait(t)
	}
	q.findPeers(waits)
	return waits
}

// inquiry collects what is found out about the waits of several threads.
type inquiry struct {
	p      *Process
	owners map[int]owner // by the process's own thread numbers
	places map[uint64]lockPlace
	net    procfs.Sockets
	inside map[int]int // our numbers of its threads by its own, if it is in another PID namespace
	asked  bool        // whether inside was determined
	far    []farEnd    // whose peers are still to be found
}

func (q *inquiry) wait(t *Thread) Wait {
	if t.State != InSyscall {
		return Wait{}
	}
	name, _ := t.Syscall()
	if name == "futex" {
		return q.waitFutex(t)
	}
	call, ok := waitCalls[name]
	if !ok {
		return Wait{}
	}
	_, args, _ := t.Registers.Syscall()
	w := Wait{Kind: call.kind}
	switch call.kind {
	case WaitFile:
		w.File = q.openFile(t.TID, int(int32(args[call.arg])), call.write)
	case WaitEvents:
		if call.timeout > 0 {
			if ms := int32(args[call.timeout]); ms > 0 {
				w.Timeout = time.Duration(ms) * time.Millisecond
			}
		}
	case WaitChild:
		if child := int(int32(args[call.arg])); child > 0 {
			w.Child = child
		}
	}
	return w
}

// waitCalls are the system calls other than futex that wait, with what they wait for and which argument
// says it.
var waitCalls = map[string]struct {
	kind    WaitKind
	arg     int
	write   bool
	timeout int // argument with a number of milliseconds; 0: none
}{
	"read": {WaitFile, 0, false, 0}, "readv": {WaitFile, 0, false, 0}, "pread64": {WaitFile, 0, false, 0}, "recvfrom": {WaitFile, 0, false, 0},
	"recvmsg": {WaitFile, 0, false, 0}, "recvmmsg": {WaitFile, 0, false, 0}, "accept": {WaitFile, 0, false, 0}, "accept4": {WaitFile, 0, false, 0},
	"write": {WaitFile, 0, true, 0}, "writev": {WaitFile, 0, true, 0}, "pwrite64": {WaitFile, 0, true, 0}, "sendto": {WaitFile, 0, true, 0},
	"sendmsg": {WaitFile, 0, true, 0}, "sendmmsg": {WaitFile, 0, true, 0}, "connect": {WaitFile, 0, true, 0}, "fsync": {WaitFile, 0, true, 0},
	"fdatasync": {WaitFile, 0, true, 0}, "flock": {WaitFile, 0, true, 0},
	"poll": {WaitEvents, 0, false, 2}, "ppoll": {WaitEvents, 0, false, 0}, "select": {WaitEvents, 0, false, 0}, "pselect6": {WaitEvents, 0, false, 0},
	"epoll_wait": {WaitEvents, 0, false, 3}, "epoll_pwait": {WaitEvents, 0, false, 3}, "epoll_pwait2": {WaitEvents, 0, false, 0},
	"io_uring_enter": {WaitEvents, 0, false, 0}, "pause": {WaitEvents, 0, false, 0}, "rt_sigsuspend": {WaitEvents, 0, false, 0},
	"rt_sigtimedwait": {WaitEvents, 0, false, 0}, "wait4": {WaitChild, 0, false, 0}, "waitid": {WaitChild, 1, false, 0},
	"nanosleep": {WaitTime, 0, false, 0}, "clock_nanosleep": {WaitTime, 0, false, 0},
}

// String returns what is waited for, as pgrab prints it: "mutex 0x404060 (cache_lock in server) held by tid
// 4250".
func (w Wait) String() string {
	switch w.Kind {
	case WaitLock, WaitFutex:
		return w.Lock.String()
	case WaitThread:
		if w.Lock.Gone {
			return fmt.Sprintf("the end of tid %d, which has ended", w.Lock.Owner)
		}
		return fmt.Sprintf("the end of tid %d", w.Lock.Owner)
	case WaitFile:
		return w.File.String()
	case WaitEvents:
		if w.Timeout > 0 {
			return fmt.Sprintf("events, for %v at most", w.Timeout)
		}
		return "events"
	case WaitChild:
		if w.Child == 0 {
			return "any child"
		}
		return fmt.Sprintf("child %d", w.Child)
	case WaitTime:
		return "time to pass"
	}
	return "nothing"
}
