package pctl

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

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
	// Timeout is how long WaitEvents waits at most, as far as the call's registers say; 0: for ever, or it is not known.
	Timeout time.Duration
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
	Gone    bool // the owner has ended; the kernel may have erased its number
	Process int  // the owner's process; 0 if that is gone
	Readers int  // of a read-write lock that is held to read
	Why     string
}

// OpenFile is a descriptor that a thread waits at.
type OpenFile struct {
	FD    int
	Path  string // as /proc/PID/fd has it: "pipe:[4711]"
	Write bool   // it wants to write
	Peers []Peer // processes that had the other end of a pipe or a socket when this was asked
	// Socket is what kind of socket it is, and between which addresses.
	Socket Socket
}

// Socket is what the kernel tells of a socket. The other end of a unix socket is known in our network namespace only, that
// of a TCP connection where both ends are in one namespace.
type Socket struct {
	Kind          string // "tcp", "udp" or "unix"; empty: it is no socket, or of another kind
	Local, Remote string // addresses; of a unix socket its path
	Listening     bool
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
	ends   procfs.Ends // nil until they are asked for
	net    procfs.Sockets
	inside map[int]int       // our numbers of its threads by its own, where it is in another PID namespace
	asked  bool              // whether it is
	peers  map[string][]Peer // of the other end, by its name and direction
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

// waitCalls are system calls that wait, other than futex: for what, and which argument says it.
var waitCalls = map[string]struct {
	kind    WaitKind
	arg     int
	write   bool
	timeout int // argument that has milliseconds; 0: none
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

// WaitsIn returns the frame of the function that has called the one that waits for a lock: the innermost outside of the C
// library, with the names that Stack gives it. What the thread holds itself was taken there or further out; which of these functions
// did so no lock tells. It reports false if the function that waits is not known.
func (t *Thread) WaitsIn() (Frame, bool) {
	frames, _ := t.Stack()
	waits := false
	for i, f := range frames {
		switch {
		case futex.CallerKind(f.Func) != futex.Unknown:
			waits = true
		case !waits && i >= deepest:
			return Frame{}, false
		case waits && !wrapsLock(f.Func):
			return f, true
		}
	}
	return Frame{}, false
}

// wrapsLock reports whether a function is what a language has around the C library's.
func wrapsLock(function string) bool {
	for _, prefix := range []string{"__", "std::", "<std::", "boost::", "QMutex", "QBasicMutex", "absl::"} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
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
	switch {
	case strings.HasPrefix(f.Path, "pipe:["):
		f.Peers = q.holders(f.Path, !write)
	case strings.HasPrefix(f.Path, "socket:["):
		end := q.net.End(q.p.PID(), f.Path)
		f.Socket = Socket{end.Kind, end.Local, end.Remote, end.Listening}
		if end.Peer != 0 {
			f.Peers = q.holders(fmt.Sprintf("socket:[%d]", end.Peer), !write)
		}
	}
	return f
}

// holders returns the processes that have an end of a pipe or a socket.
func (q *inquiry) holders(end string, writers bool) []Peer {
	key := strconv.FormatBool(writers) + end
	peers, ok := q.peers[key]
	if !ok {
		if q.ends == nil {
			q.ends = procfs.FindEnds()
		}
		for _, pid := range q.ends.Holders(end, writers, q.p.PID()) {
			name, _ := procfs.ReadComm(pid, pid)
			peers = append(peers, Peer{pid, name})
		}
		if q.peers == nil {
			q.peers = make(map[string][]Peer)
		}
		q.peers[key] = peers
	}
	return peers
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
	case l.Gone:
		s += ", the owner has ended"
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
	s += f.Socket.String()
	for i, p := range f.Peers {
		sep := ", "
		switch {
		case i > 0:
		case f.Socket.Kind != "":
			sep = ", peer "
		case f.Write:
			sep = ", read by "
		default:
			sep = ", written by "
		}
		s += fmt.Sprintf("%spid %d (%s)", sep, p.PID, clean.Text(p.Name))
	}
	return s
}

// String is what follows the name of a socket, empty if nothing is known.
func (s Socket) String() string {
	text := ""
	if s.Kind != "" {
		text = ", " + s.Kind
	}
	if s.Local != "" {
		text += " " + clean.Text(s.Local)
	}
	if s.Listening {
		text += ", listening"
	}
	if s.Remote != "" {
		text += " to " + clean.Text(s.Remote)
	}
	return text
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
