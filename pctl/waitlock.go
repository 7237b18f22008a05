package pctl

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ptools/internal/clean"
	"ptools/internal/futex"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

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

// owner is a thread that holds a lock.
type owner struct{ tid, process int }

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
// library, with the names that Stack gives it. What the thread holds itself was taken there or further out; which of
// these functions did so no lock tells. It reports false if the function that waits is not known.
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
