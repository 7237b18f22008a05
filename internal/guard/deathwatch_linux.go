package guard

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A death watch notifies the guard process of our death, and waits for the end of the guard process. It is an
// OS thread on each of a few processors. Each thread owns a robust futex in the shared memory. When the thread
// ends, with all others or because the program executes another one, the kernel marks the futex. It wakes the
// guard's thread that waits for it on the same processor. A killed thread does that early (kernel/exit.c,
// exit_mm), and the death watch does it before other threads if it may have a priority above theirs. The control
// thread ends, and its tracees are detached, whenever it is given a processor.
//
// There is one thread for each processor because a sleeping processor takes long to wake, up to milliseconds in
// a virtual machine. On the processor that the SIGKILL comes from, death watch and guard run at once.
type deathWatch struct {
	gone    chan struct{}  // closed when the guard process is gone, and the death watch is about to end
	further sync.WaitGroup // the threads other than the first

	mu  sync.Mutex
	pid int // of the guard process, 0 when it has been waited for
}

// Words of a pair of threads, one of the death watch and one of the guard. The first three are the kernel's
// struct robust_list_head, the fourth is its only entry. The futex is the lower half of its word.
const (
	headNext = iota
	headOffset
	headPending
	entryNext
	futexWord
	cpuWord   // processor of both
	readyWord // a futex, not zero when the guard's thread can do its work
	pairWords
)

// Bits of a robust futex (futex(2)).
const (
	futexWaiters   = 1 << 31
	futexOwnerDied = 1 << 30
)

// newDeathWatch makes the threads and the guard process. They end when the guard process does.
func newDeathWatch(words []uint64) (*deathWatch, error) {
	h := &deathWatch{gone: make(chan struct{})}
	cpus := processors()
	words[pidWord] = uint64(syscall.Getpid())
	words[pairsWord] = uint64(len(cpus))
	for i, cpu := range cpus {
		pair(words, i)[cpuWord] = uint64(cpu)
	}
	forked := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		defer close(h.gone)
		defer own(pair(words, 0))()
		listDontNeed(words)
		pid, e := fork(words)
		if e != 0 {
			forked <- fmt.Errorf("guard process: %w", e)
			return
		}
		h.pid = int(pid)
		h.further.Add(len(cpus) - 1)
		for i := range cpus {
			h.awaitReady(pair(words, i))
		}
		forked <- nil
		h.wait()
	}()
	if err := <-forked; err != nil {
		return h, err
	}
	for i := 1; i < len(cpus); i++ {
		go func() {
			runtime.LockOSThread()
			defer h.further.Done()
			defer own(pair(words, i))()
			forked <- nil
			h.waitid(waitEnd | syscall.WNOWAIT)
		}()
		<-forked
	}
	return h, nil
}

// awaitReady returns when a thread of the guard process has its priority, and has what it needs in memory. Nothing is
// planted until then, which may take long on a busy machine. awaitReady also returns when the guard process has ended.
// That wakes no thread, so awaitReady polls for it.
func (h *deathWatch) awaitReady(p []uint64) {
	ready := (*uint32)(unsafe.Pointer(&p[readyWord]))
	look := syscall.Timespec{Nsec: 1e6}
	for atomic.LoadUint32(ready) == 0 && h.waitid(waitEnd|syscall.WNOWAIT|syscall.WNOHANG) == 0 {
		syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(ready)), futexWait, 0, uintptr(unsafe.Pointer(&look)), 0, 0)
	}
}

// processors returns the processors that get a death watch, a few of those that this program may use.
func processors() []int {
	var set [1024 / 64]uint64
	_, _, e := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	if e != 0 {
		return []int{0}
	}
	var cpus []int
	for cpu := range 64 * len(set) {
		if set[cpu/64]>>(cpu%64)&1 != 0 && len(cpus) < mostPairs {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// Arguments of waitid(2). Without __WALL a child that has no exit signal is not waited for.
const (
	waitPID = 1
	waitEnd = syscall.WEXITED | syscall.WALL
)

// wait returns when the guard process has ended. The number of the process stays taken until the other
// threads have ended, and pid is set to 0, so that kill does not use it any more.
func (h *deathWatch) wait() {
	h.waitid(waitEnd | syscall.WNOWAIT)
	h.further.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waitid(waitEnd)
	h.pid = 0
}

// ended reports whether the guard process has ended. It asks the kernel, which knows before the
// deathWatch does.
func (h *deathWatch) ended() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pid == 0 || h.waitid(waitEnd|syscall.WNOWAIT|syscall.WNOHANG) != 0
}

// waitid returns the number of the guard process, or 0 if it has not ended.
func (h *deathWatch) waitid(options uintptr) (pid int32) {
	var info [16]uint64 // siginfo_t; si_pid begins the third word
	for {
		_, _, e := syscall.Syscall6(syscall.SYS_WAITID, waitPID, uintptr(h.pid), uintptr(unsafe.Pointer(&info)), options, 0, 0)
		if e != syscall.EINTR {
			return int32(info[2])
		}
	}
}

// kill ends the guard process and the death watch.
func (h *deathWatch) kill() {
	h.mu.Lock()
	if h.pid != 0 {
		syscall.Kill(h.pid, syscall.SIGKILL)
	}
	h.mu.Unlock()
	<-h.gone
}

// own makes the calling thread the owner of the futex of a pair, and moves it to the pair's processor. The
// returned function undoes the ownership.
func own(words []uint64) func() {
	moveTo(words[cpuWord])
	goAhead(deathWatchLevel)
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
