package guard

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A herald is an OS thread that tells the guard process of our death, and waits for the guard's. It
// owns a robust futex in the shared memory: when the thread ends, with all others or because the
// program executes another one, the kernel marks the word and wakes the guard. That is one of the
// first things that a thread does which is killed (kernel/exit.c, exit_mm), and the herald does it
// before other threads where it may have a priority above theirs. The control thread comes to its
// end, and lets its tracees go, whenever it is given a processor.
type herald struct {
	gone chan struct{} // closed when the guard process is gone, and the herald is about to

	mu  sync.Mutex
	pid int // of the guard process, 0 when it has been waited for
}

// Words of the shared memory that are the kernel's struct robust_list_head and its only entry. The
// futex is the lower half of its word.
const (
	headNext = iota
	headOffset
	headPending
	entryNext
	futexWord
)

// Bits of a robust futex (futex(2)).
const (
	futexWaiters   = 1 << 31
	futexOwnerDied = 1 << 30
)

// newHerald makes the thread and the guard process. The thread ends when the guard process does.
func newHerald(words []uint64) (*herald, error) {
	h := &herald{gone: make(chan struct{})}
	forked := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		defer close(h.gone)
		goAhead()
		defer own(words)()
		setBallast(words)
		pid, e := fork(words)
		if e != 0 {
			forked <- fmt.Errorf("guard process: %w", e)
			return
		}
		h.pid = int(pid)
		forked <- nil
		h.wait()
	}()
	return h, <-forked
}

// Arguments of waitid(2). Without __WALL a child that has no exit signal is not waited for.
const (
	waitPID = 1
	waitEnd = syscall.WEXITED | syscall.WALL
)

// wait returns when the guard process has ended. Its number stays taken until kill can know.
func (h *herald) wait() {
	waitid := func(options uintptr) {
		for {
			_, _, e := syscall.Syscall6(syscall.SYS_WAITID, waitPID, uintptr(h.pid), 0, options, 0, 0)
			if e != syscall.EINTR {
				return
			}
		}
	}
	waitid(waitEnd | syscall.WNOWAIT)
	h.mu.Lock()
	defer h.mu.Unlock()
	waitid(waitEnd)
	h.pid = 0
}

// kill ends the guard process and the herald.
func (h *herald) kill() {
	h.mu.Lock()
	if h.pid != 0 {
		syscall.Kill(h.pid, syscall.SIGKILL)
	}
	h.mu.Unlock()
	<-h.gone
}

// own makes the calling thread the owner of the futex. What it returns undoes that.
func own(words []uint64) func() {
	var old, size uintptr
	syscall.RawSyscall(syscall.SYS_GET_ROBUST_LIST, 0, uintptr(unsafe.Pointer(&old)), uintptr(unsafe.Pointer(&size)))
	address := func(word int) uint64 { return uint64(uintptr(unsafe.Pointer(&words[word]))) }
	words[entryNext] = address(headNext)
	words[headOffset] = 8 * (futexWord - entryNext)
	words[headPending] = 0
	words[headNext] = address(entryNext)
	atomic.StoreUint64(&words[futexWord], uint64(syscall.Gettid())|futexWaiters)
	const headSize = 8 * (headPending + 1) // the kernel takes no other
	syscall.RawSyscall(syscall.SYS_SET_ROBUST_LIST, uintptr(unsafe.Pointer(&words[headNext])), headSize, 0)
	return func() { syscall.RawSyscall(syscall.SYS_SET_ROBUST_LIST, old, headSize, 0) }
}
