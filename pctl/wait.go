package pctl

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ptools/internal/clean"
	"ptools/internal/futex"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// WaitKind says for what a thread waits.
type WaitKind uint8

const (
	// WaitNothing: it runs, or its call is not one that is known to wait.
	WaitNothing WaitKind = iota
	// WaitLock: a mutex or read-write lock (Wait.Lock).
	WaitLock
	// WaitThread: the end of a thread (Wait.Lock.Owner).
	WaitThread
	// WaitFutex: something else that is made of a futex, which nobody owns (Wait.Lock.Kind).
	WaitFutex
	// WaitFile: data of, or room in, what Wait.File is.
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
}

// Lock is a lock, or what else a thread waits for in futex(2).
type Lock struct {
	Kind string // "mutex", "read-write lock", "condition variable", "semaphore", …
	Addr uint64
	// Symbol is the variable that it lies in, with Object its file; Object alone where it is in an object's data, and
	// neither on a heap or a stack.
	Symbol string
	Offset uint64 // of Addr in Symbol, or in Object's file as it counts addresses
	Object string
	// Owner is the thread that holds the lock, or whose end is waited for; 0: not known, and Why says why not.
	Owner   int
	Gone    bool // the owner has ended
	Process int  // the owner's process; 0 if that is gone
	Readers int  // of a read-write lock that is held to read
	Why     string
}

// OpenFile is a descriptor that a thread waits at.
type OpenFile struct {
	FD    int
	Path  string // as /proc/PID/fd has it: "pipe:[4711]"
	Write bool   // it wants to write
	Peers []Peer // processes that have the other end of a pipe, when this was asked
}

// Peer is a process at the other end.
type Peer struct {
	PID  int
	Name string
}

// futexCall returns the futex(2) call that the thread waits in.
func (t *Thread) futexCall() (futex.Call, bool) {
	if t.State != InSyscall {
		return futex.Call{}, false
	}
	nr, args, _ := t.Registers.Syscall()
	if nr != futex.Number && nr != ptrace.CallRestart || t.Registers.kernel().Is32Bit() {
		return futex.Call{}, false
	}
	return futex.Parse(args)
}

// readFutex reads the memory around a futex. A lock at the edge of its page is read as far as that goes.
func readFutex(mem io.ReaderAt, addr uint64) futex.Memory {
	if addr == 0 {
		return futex.Memory{}
	}
	const page = 4096
	from, to := addr-futex.Before, addr+futex.After
	for _, edges := range [][2]uint64{{from, to}, {max(from, addr&^(page-1)), min(to, (addr|(page-1))+1)}} {
		b := make([]byte, edges[1]-edges[0])
		if n, _ := mem.ReadAt(b, int64(edges[0])); n == len(b) {
			return futex.Memory{At: edges[0], Bytes: b}
		}
	}
	return futex.Memory{}
}

// Wait returns what the thread waited for when it was stopped. Whose lock it is comes from memory that
// Snapshot.CopyStacks has copied; files and the ends of pipes are looked at now. No owner is guessed: where
// the lock does not tell, Lock.Why says so.
func (t *Thread) Wait() Wait { return Waits([]*Thread{t})[t.TID] }

// Waits is Thread.Wait of many threads of one process, by their numbers, for the price of few.
func Waits(threads []*Thread) map[int]Wait {
	waits := make(map[int]Wait, len(threads))
	if len(threads) == 0 {
		return waits
	}
	q := inquiry{p: threads[0].p, owners: make(map[int]owner), places: make(map[uint64]lockPlace)}
	for _, t := range threads {
		waits[t.TID] = q.wait(t)
	}
	return waits
}

// inquiry is what is found out for the waits of several threads.
type inquiry struct {
	p      *Process
	owners map[int]owner // by the process's own numbers
	places map[uint64]lockPlace
	ends   procfs.Pipes      // nil until they are asked for
	inside map[int]int       // our numbers of its threads by its own, where it is in another PID namespace
	asked  bool              // whether it is
	pipes  map[string][]Peer // by name and direction
}

// owner is a thread that holds a lock.
type owner struct{ tid, process int }

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
		w.File = q.openFile(int(int32(args[call.arg])), call.write)
	case WaitChild:
		if child := int(int32(args[call.arg])); child > 0 {
			w.Child = child
		}
	}
	return w
}

// waitCalls are system calls that wait, other than futex: for what, and which argument says it.
var waitCalls = map[string]struct {
	kind  WaitKind
	arg   int
	write bool
}{
	"read": {WaitFile, 0, false}, "readv": {WaitFile, 0, false}, "pread64": {WaitFile, 0, false}, "recvfrom": {WaitFile, 0, false},
	"recvmsg": {WaitFile, 0, false}, "recvmmsg": {WaitFile, 0, false}, "accept": {WaitFile, 0, false}, "accept4": {WaitFile, 0, false},
	"write": {WaitFile, 0, true}, "writev": {WaitFile, 0, true}, "pwrite64": {WaitFile, 0, true}, "sendto": {WaitFile, 0, true},
	"sendmsg": {WaitFile, 0, true}, "sendmmsg": {WaitFile, 0, true}, "connect": {WaitFile, 0, true}, "fsync": {WaitFile, 0, true},
	"fdatasync": {WaitFile, 0, true}, "flock": {WaitFile, 0, true},
	"poll": {WaitEvents, 0, false}, "ppoll": {WaitEvents, 0, false}, "select": {WaitEvents, 0, false}, "pselect6": {WaitEvents, 0, false},
	"epoll_wait": {WaitEvents, 0, false}, "epoll_pwait": {WaitEvents, 0, false}, "epoll_pwait2": {WaitEvents, 0, false},
	"io_uring_enter": {WaitEvents, 0, false}, "pause": {WaitEvents, 0, false}, "rt_sigsuspend": {WaitEvents, 0, false},
	"rt_sigtimedwait": {WaitEvents, 0, false}, "wait4": {WaitChild, 0, false}, "waitid": {WaitChild, 1, false},
	"nanosleep": {WaitTime, 0, false}, "clock_nanosleep": {WaitTime, 0, false},
}

// deepest is how many frames are looked at for the function that waits.
const deepest = 8

// waitFutex tells what is waited for in futex(2).
func (q *inquiry) waitFutex(t *Thread) Wait {
	call, ok := t.futexCall()
	if !ok {
		return Wait{}
	}
	l := call.Lock(t.waitingFunction(), t.lock, func(tid int) bool { return q.owner(tid).tid != 0 })
	w := Wait{Kind: WaitFutex, Lock: Lock{Kind: l.Kind.String(), Addr: l.Addr, Readers: l.Readers, Gone: l.Dead, Why: l.Why}}
	switch l.Kind {
	case futex.Mutex, futex.ReadLock, futex.WriteLock:
		w.Kind = WaitLock
	case futex.Thread:
		w.Kind = WaitThread
	}
	if l.Owner != 0 {
		if o := q.owner(l.Owner); o.tid != 0 {
			w.Lock.Owner, w.Lock.Process = o.tid, o.process
		} else {
			w.Lock.Owner, w.Lock.Gone = l.Owner, true
		}
	}
	where, ok := q.places[w.Lock.Addr]
	if !ok {
		where = t.place(w.Lock.Addr)
		q.places[w.Lock.Addr] = where
	}
	w.Lock.Symbol, w.Lock.Offset, w.Lock.Object = where.symbol, where.offset, where.object
	return w
}

// waitingFunction returns what the innermost function waits for that is known to wait.
func (t *Thread) waitingFunction() futex.Kind {
	frames, _ := t.Calls() // of a stack that is cut the inner frames are there
	for _, f := range frames[:min(len(frames), deepest)] {
		if k := futex.CallerKind(f.Func); k != futex.Unknown {
			return k
		}
	}
	return futex.Unknown
}

// lockPlace is the variable or object that a lock lies in.
type lockPlace struct {
	symbol, object string
	offset         uint64
}

// place finds where a lock lies.
func (t *Thread) place(addr uint64) lockPlace {
	o, ok := t.space.Data(addr)
	if !ok {
		return lockPlace{}
	}
	if o.File != nil {
		if s, ok := o.File.Variable(addr - o.Bias); ok {
			return lockPlace{s.Name, o.Path, addr - o.Bias - s.Addr}
		}
	}
	return lockPlace{object: o.Path, offset: addr - o.Bias}
}

// owner returns the living thread that the process knows by a number, or nothing.
func (q *inquiry) owner(tid int) owner {
	if o, ok := q.owners[tid]; ok {
		return o
	}
	var o owner
	if own := q.outside(tid); own > 0 {
		if st, err := procfs.ReadTaskStatus(own, own); err == nil && st.State != 'Z' && st.State != 'X' {
			o = owner{own, st.Tgid}
		}
	}
	q.owners[tid] = o
	return o
}

// outside returns our number of a thread that the process knows by tid. A process in our own PID namespace has the same
// numbers; in another one its own threads are known, and no others.
func (q *inquiry) outside(tid int) int {
	if !q.asked {
		q.asked = true
		q.inside = innerNumbers(q.p.PID())
	}
	if q.inside == nil {
		return tid
	}
	return q.inside[tid]
}

// innerNumbers returns our numbers of a process's threads by those that they have in its own PID namespace; nil if
// that is ours.
func innerNumbers(pid int) map[int]int {
	if st, err := procfs.ReadTaskStatus(pid, pid); err != nil || len(st.NSpid) < 2 {
		return nil
	}
	numbers := make(map[int]int)
	tids, _ := procfs.Tasks(pid, nil)
	for _, tid := range tids {
		if st, err := procfs.ReadTaskStatus(pid, tid); err == nil && len(st.NSpid) > 0 {
			numbers[st.NSpid[len(st.NSpid)-1]] = tid
		}
	}
	return numbers
}

// openFile tells what a descriptor is.
func (q *inquiry) openFile(fd int, write bool) OpenFile {
	f := OpenFile{FD: fd, Write: write}
	f.Path, _ = procfs.FileName(q.p.PID(), fd)
	if !strings.HasPrefix(f.Path, "pipe:[") {
		return f
	}
	key := strconv.FormatBool(write) + f.Path
	peers, ok := q.pipes[key]
	if !ok {
		if q.ends == nil {
			q.ends = procfs.FindPipes()
		}
		for _, pid := range q.ends.Holders(f.Path, !write, q.p.PID()) {
			name, _ := procfs.ReadComm(pid, pid)
			peers = append(peers, Peer{pid, name})
		}
		if q.pipes == nil {
			q.pipes = make(map[string][]Peer)
		}
		q.pipes[key] = peers
	}
	f.Peers = peers
	return f
}

// String says what is waited for, as pgrab prints it: "mutex 0x404060 (cache_lock in server) held by tid 4250".
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

func (l Lock) String() string {
	s := fmt.Sprintf("%s %#x", l.Kind, l.Addr)
	switch {
	case l.Symbol != "" && l.Offset != 0:
		s += fmt.Sprintf(" (%s+%d in %s)", clean.Text(l.Symbol), l.Offset, clean.Text(clean.Base(l.Object)))
	case l.Symbol != "":
		s += fmt.Sprintf(" (%s in %s)", clean.Text(l.Symbol), clean.Text(clean.Base(l.Object)))
	case l.Object != "":
		s += fmt.Sprintf(" (in %s)", clean.Text(clean.Base(l.Object)))
	}
	switch {
	case l.Owner != 0 && l.Gone:
		s += fmt.Sprintf(" held by tid %d, which has ended", l.Owner)
	case l.Owner != 0:
		s += fmt.Sprintf(" held by tid %d", l.Owner)
	case l.Readers != 0:
		s += fmt.Sprintf(" held by %d to read", l.Readers)
	default:
		s += ", owner unknown (" + l.Why + ")"
	}
	return s
}

func (f OpenFile) String() string {
	s := fmt.Sprintf("fd %d", f.FD)
	if f.Path != "" {
		s += " (" + clean.Text(f.Path) + ")"
	}
	for i, p := range f.Peers {
		sep := ", "
		if i == 0 {
			sep = ", written by "
			if f.Write {
				sep = ", read by "
			}
		}
		s += fmt.Sprintf("%spid %d (%s)", sep, p.PID, clean.Text(p.Name))
	}
	return s
}

// Deadlocks returns the cycles of threads that wait for each other's locks: each thread of a cycle
// waits for one that the next one holds, the last for the first one's. waits has what each thread waits for.
func Deadlocks(waits map[int]Wait) [][]int {
	var cycles [][]int
	done := make(map[int]bool)
	tids := make([]int, 0, len(waits))
	for tid := range waits {
		tids = append(tids, tid)
	}
	slices.Sort(tids)
	for _, tid := range tids {
		var path []int
		at := tid
		for !done[at] && waits[at].Kind == WaitLock && waits[at].Lock.Owner != 0 {
			done[at] = true
			path = append(path, at)
			at = waits[at].Lock.Owner
		}
		if i := slices.Index(path, at); i >= 0 {
			cycles = append(cycles, path[i:])
		}
	}
	return cycles
}
