package guard

import (
	"syscall"
	"unsafe"

	"ptools/internal/ptrace"
)

// A thread that writes traps also is the tracer, and the kernel lets its tracees go when it ends: children that stand in front
// of their first instruction, with the traps of their parent, and threads at a trap. So its end is made a long one. It
// owns as many robust futexes as the kernel looks at (ROBUST_LIST_LIMIT), and each of them asks for a waiter to be woken, of which there is none.
// When the thread is killed that is done before its tracees are let go (kernel/exit.c: exit_mm comes before exit_notify), it
// takes half a millisecond, and the thread gives way to others all the time (exit_robust_list has a cond_resched for each futex).
// That also helps where no kernel code is preempted otherwise, and the thread has been woken before the death watch.

// mostRobust is the kernel's ROBUST_LIST_LIMIT.
const mostRobust = 2048

// entry is one of the list of a thread: the address of the next, and the futex, which is its lower half.
type entry struct {
	next  uint64
	futex uint64
}

// A lingerer is a thread whose end takes time.
type lingerer struct {
	head      [headPending + 1]uint64 // struct robust_list_head
	entries   []entry
	old, size uintptr // what the thread had before
}

// linger has the calling thread linger when it is killed.
func (g *Guard) linger() {
	tid := ptrace.ThreadID()
	if g.lingerers[tid] != nil {
		return
	}
	l := &lingerer{entries: make([]entry, mostRobust)}
	for i := range l.entries {
		next := uintptr(unsafe.Pointer(&l.head))
		if i+1 < mostRobust {
			next = uintptr(unsafe.Pointer(&l.entries[i+1]))
		}
		l.entries[i] = entry{uint64(next), uint64(tid) | futexWaiters}
	}
	l.head[headNext] = uint64(uintptr(unsafe.Pointer(&l.entries[0])))
	l.head[headOffset] = uint64(unsafe.Offsetof(l.entries[0].futex))
	syscall.RawSyscall(syscall.SYS_GET_ROBUST_LIST, 0, uintptr(unsafe.Pointer(&l.old)), uintptr(unsafe.Pointer(&l.size)))
	_, _, e := syscall.RawSyscall(syscall.SYS_SET_ROBUST_LIST, uintptr(unsafe.Pointer(&l.head)), unsafe.Sizeof(l.head), 0)
	if e != 0 {
		return
	}
	if g.lingerers == nil {
		g.lingerers = map[int]*lingerer{}
	}
	g.lingerers[tid] = l // which keeps it where the kernel looks
}

// Quit is called on a thread that has written traps, and ends without any. A nil Guard has nothing to do.
func (g *Guard) Quit() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	tid := ptrace.ThreadID()
	if l := g.lingerers[tid]; l != nil {
		syscall.RawSyscall(syscall.SYS_SET_ROBUST_LIST, l.old, unsafe.Sizeof(l.head), 0)
		delete(g.lingerers, tid)
	}
}
