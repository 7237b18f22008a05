package pctl

import (
	"fmt"
	"strconv"
	"time"

	"ptools/internal/clean"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
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
	// WaitEvents: one of several descriptors, or a completion (Wait.Polled).
	WaitEvents
	// WaitChild: a child process (Wait.Child).
	WaitChild
	// WaitTime: time to pass (Wait.Time).
	WaitTime
	// WaitFileLock: a lock of Wait.File (Wait.FileLock).
	WaitFileLock
	// WaitOpen: the open of Wait.File, of which only the path is known. A fifo is open when it has both ends.
	WaitOpen
	// WaitQueue: a message queue or semaphores of System V (Wait.Queue).
	WaitQueue
	// WaitSignal: a signal.
	WaitSignal
)

var waitKinds = [...]string{"nothing", "lock", "thread", "futex", "file", "events", "child", "time", "file-lock", "open", "queue", "signal"}

func (k WaitKind) String() string {
	if int(k) < len(waitKinds) {
		return waitKinds[k]
	}
	return "wait " + strconv.Itoa(int(k))
}

// Wait is what a thread waited for when it was stopped.
type Wait struct {
	Kind     WaitKind
	Lock     Lock
	File     OpenFile
	FileLock FileLock
	Polled   Polled
	Queue    Queue
	Child    Child
	Time     TimeLeft
}

// TimeLeft is how long a thread waits.
type TimeLeft struct {
	// Timeout is how long it waits at most, as far as the call's arguments tell. 0: without a limit, or not known.
	Timeout time.Duration
	// Left is how long it would still have waited when it was stopped. Known is false if that cannot be told.
	Left  time.Duration
	Known bool
}

// Child is the process whose end or stop is waited for.
type Child struct {
	PID   int    // 0: any
	Name  string // of PID
	Group int    // any of a process group; 0: of all, -1: of its own
}

// Wait returns what the thread waited for when it was stopped. The owner of a lock, the descriptors of a poll and the like
// come from memory that Snapshot.CopyStacks has copied. What descriptors are, the ends of pipes and the holders of file locks
// are looked up at this call. No owner is guessed: if the lock does not name one, Lock.Why says why.
func (t *Thread) Wait() Wait { return Waits([]*Thread{t})[t.TID] }

// Waits returns Thread.Wait of many threads of one process, by thread number. It costs little more than
// that of a few.
func Waits(threads []*Thread) map[int]Wait {
	waits := make(map[int]Wait, len(threads))
	if len(threads) == 0 {
		return waits
	}
	q := inquiry{p: threads[0].p, owners: make(map[int]owner), places: make(map[uint64]lockPlace)}
	found := make([]Wait, len(threads)) // far ends are filled in later
	for i, t := range threads {
		q.wait(t, &found[i])
	}
	q.findPeers()
	for i, t := range threads {
		waits[t.TID] = found[i]
	}
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

	inquiryFiles
}

// inquiryFiles is what is known of files. A process may have its threads wait in very many ways for the same: each is asked for once.
type inquiryFiles struct {
	locks   []procfs.Locked // of all files, once asked for
	holders map[procfs.Locked][]Peer
	looked  int // descriptors that may still be looked at for holders
	mounts  procfs.Mounts
	epolls  map[int][]watched
}

// wait sets what a thread waits for.
func (q *inquiry) wait(t *Thread, w *Wait) {
	nr, result, ok := t.Registers.kernel().SyscallReturn()
	if t.State != InSyscall || !ok || !ptrace.InterruptedResult(result) && result != nr {
		return // it has been stopped when its call was over
	}
	name, _ := t.Syscall()
	if call, ok := waitCalls[name]; ok {
		_, args, _ := t.Registers.Syscall()
		call.tell(&asked{inquiry: q, t: t, args: args, Wait: w})
	}
}

// asked is the call of one thread whose wait is asked for.
type asked struct {
	*inquiry
	*Wait
	t    *Thread
	args [6]uint64
}

// int returns an argument that is an int.
func (a *asked) int(i int) int { return int(int32(a.args[i])) }

// String returns what is waited for, as pgrab prints it: "mutex 0x404060 (cache_lock in server) held by tid
// 4250 (worker)".
func (w Wait) String() string {
	switch w.Kind {
	case WaitLock, WaitFutex:
		return w.Lock.String()
	case WaitThread:
		if w.Lock.Gone {
			return fmt.Sprintf("the end of tid %d, which has ended", w.Lock.Owner)
		}
		return "the end of tid " + named(w.Lock.Owner, w.Lock.OwnerName)
	case WaitFile:
		return w.File.String()
	case WaitFileLock:
		return w.FileLock.String() + " of " + w.File.String() + w.FileLock.held()
	case WaitOpen:
		return w.File.opens()
	case WaitEvents:
		return w.Polled.String() + w.Time.limit()
	case WaitQueue:
		return w.Queue.String() + w.Time.limit()
	case WaitChild:
		return w.Child.String()
	case WaitTime:
		return "time to pass" + w.Time.String()
	case WaitSignal:
		return "a signal" + w.Time.limit()
	}
	return "nothing"
}

func (c Child) String() string {
	switch {
	case c.PID != 0:
		return "child " + named(c.PID, c.Name)
	case c.Group < 0:
		return "any child of its process group"
	case c.Group != 0:
		return fmt.Sprintf("any child of process group %d", c.Group)
	}
	return "any child"
}

// named returns a number of a process or thread with its name.
func named(number int, name string) string {
	if name == "" {
		return strconv.Itoa(number)
	}
	return fmt.Sprintf("%d (%s)", number, clean.Text(name))
}

// String is what follows "time to pass".
func (l TimeLeft) String() string {
	if l.Known {
		return fmt.Sprintf(", %v left", l.Left.Round(time.Millisecond))
	}
	if l.Timeout > 0 {
		return fmt.Sprintf(", %v at most", l.Timeout)
	}
	return ""
}

func (l TimeLeft) limit() string {
	if l.Timeout > 0 {
		return fmt.Sprintf(", for %v at most", l.Timeout)
	}
	return ""
}
