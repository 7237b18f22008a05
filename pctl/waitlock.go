package pctl

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"ptools/internal/clean"
	"ptools/internal/futex"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/pctl/handle"
)

// Lock is a lock, or another thing that a thread waits for in futex(2).
type Lock struct {
	Kind string // "mutex", "read-write lock", "condition variable", "semaphore", …
	Addr uint64
	// Symbol is the variable that the lock lies in, and Object its file. If no variable of an object's data is known
	// there, only Object is set. On a heap or a stack neither is set.
	Symbol string
	Offset uint64 // of Addr in Symbol, or in Object's file as it counts addresses
	Object string
	// Owner is the thread that holds the lock, or whose end is waited for. 0: not known; Why says why.
	Owner     int
	OwnerName string
	Gone      bool // the owner has ended; the kernel may have erased its number
	Process   int  // the owner's process; 0 if it is gone
	Readers   int  // number of readers that hold a read-write lock
	Why       string
}

// futexCall returns the futex(2) call that the thread waits in.
func (t *Thread) futexCall() (futex.Call, bool) {
	if t.State != InSyscall {
		return futex.Call{}, false
	}
	nr, args, _ := t.Registers.Syscall()
	if procfs.SyscallName(nr) != futex.Name && nr != ptrace.CallRestart || t.Registers.kernel().Is32Bit() {
		return futex.Call{}, false
	}
	return futex.Parse(args)
}

// readFutex reads the memory around a futex. If a lock's memory crosses the edge of a page, the readable part is read.
func readFutex(mem io.ReaderAt, addr uint64) futex.Memory {
	if addr == 0 {
		return futex.Memory{}
	}
	page := uint64(os.Getpagesize())
	from, to := addr-futex.Before, addr+futex.After
	for _, edges := range [][2]uint64{{from, to}, {max(from, addr&^(page-1)), min(to, (addr|(page-1))+1)}} {
		b := make([]byte, edges[1]-edges[0])
		if n, _ := mem.ReadAt(b, int64(edges[0])); n == len(b) {
			return futex.Memory{At: edges[0], Bytes: b}
		}
	}
	return futex.Memory{}
}

// owner is a thread that holds a lock.
type owner struct {
	tid, process int
	name         string
}

// deepest is how many inner frames are searched for the function that waits.
const deepest = 8

// waitFutex returns what a thread waits for in futex(2).
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
			w.Lock.Owner, w.Lock.OwnerName, w.Lock.Process = o.tid, o.name, o.process
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
	if l.Kind == futex.Condition && where.size == futex.ConditionSize { // threads wait at a word inside of it
		w.Lock.Addr, w.Lock.Offset = w.Lock.Addr-where.offset, 0
	}
	return w
}

// waitingFunction finds the innermost function that is known to wait, and returns what it waits for.
func (t *Thread) waitingFunction() futex.Kind {
	frames, _ := t.Calls() // a stack that is cut still has its inner frames
	for _, f := range frames[:min(len(frames), deepest)] {
		if k := futex.CallerKind(f.Func); k != futex.Unknown {
			return k
		}
	}
	return futex.Unknown
}

// WaitsIn returns the frame of the function that called the function that waits for a lock. It is the innermost function
// outside of the C library, with the names that Stack gives it. The locks that the thread holds itself were taken in this
// function or further out; no lock tells in which. WaitsIn reports false if the function that waits is not known.
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

// wrapsLock reports whether a function is a language's wrapper of the C library's lock functions.
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
	offset, size   uint64 // size of the variable
}

// place returns the variable or object that a lock lies in.
func (t *Thread) place(addr uint64) lockPlace { return placeOf(t.space, addr) }

func placeOf(space *handle.Space, addr uint64) lockPlace {
	o, ok := space.Data(addr)
	if !ok {
		return lockPlace{}
	}
	if o.File != nil {
		if s, ok := o.File.Variable(addr - o.Bias); ok {
			return lockPlace{s.Name, o.Path, addr - o.Bias - s.Addr, s.Size}
		}
	}
	return lockPlace{object: o.Path, offset: addr - o.Bias}
}

// owner returns the living thread that the process knows by a number, or a zero owner.
func (q *inquiry) owner(tid int) owner {
	if o, ok := q.owners[tid]; ok {
		return o
	}
	var o owner
	if own := q.outside(tid); own > 0 {
		if st, err := procfs.ReadTaskStatus(own, own); err == nil && st.State != 'Z' && st.State != 'X' {
			name, _ := procfs.ReadComm(own, own)
			o = owner{own, st.Tgid, name}
		}
	}
	q.owners[tid] = o
	return o
}

// outside returns our number of a thread that the process knows by tid. In our own PID namespace the numbers are the
// same. If the process is in another one, only its own threads are known.
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

// innerNumbers returns our numbers of a process's threads by the numbers that they have in the process's PID
// namespace. It returns nil if that is our namespace.
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
		s += " held by tid " + named(l.Owner, l.OwnerName)
	case l.Readers != 0:
		s += fmt.Sprintf(" held by %d to read", l.Readers)
	default:
		s += ", owner unknown (" + l.Why + ")"
	}
	return s
}

// Deadlocks returns the cycles of threads that wait for each other's locks. Each thread of a cycle waits for
// a lock that the next thread holds, and the last for a lock of the first. waits has what each thread waits
// for.
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
