package guard

import (
	"syscall"
	"unsafe"

	"ptools/internal/ptrace"
)

// The guard process is a fork of this one that never comes back to Go: it has one thread, no
// runtime, and no lock can be relied on, so it makes system calls and nothing else. What it needs
// is on its stack and in the shared memory; the rest of its memory, a copy of ours that grows as
// ours changes, it gives back (ballast).

// Words of the first page that are the guard process's.
const (
	byteWord    = 16 // a buffer of one byte
	nameWord    = 17 // and the next: the name of its command, padded with zeros; its arguments are ours
	ballastWord = 20 // start and end of ranges of memory it can do without; 0 ends them
)

// Bits and numbers of system calls that package syscall does not name.
const (
	prSetName  = 15
	futexWait  = 0
	sigSetMask = 2
)

// fork makes the guard process. It shares our descriptors: what is opened later, /proc/PID/mem of
// targets, is open in it too. It has no exit signal, so waits of the host for any child do not see
// it, nor does a SIGCHLD tell of it (wait(2), __WCLONE). Every signal is blocked in it, which SIGKILL
// and SIGSTOP cannot be: those that ask a group of processes to end are for the guarded one.
//
//go:norace
//go:nosplit
//go:nocheckptr
func fork(words []uint64) (pid uintptr, e syscall.Errno) {
	all, old := ^uint64(0), uint64(0)
	raw(syscall.SYS_RT_SIGPROCMASK, sigSetMask, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), 8)
	pid, e = raw(syscall.SYS_CLONE, syscall.CLONE_FILES, 0, 0, 0)
	if e == 0 && pid == 0 {
		live(words)
	}
	raw(syscall.SYS_RT_SIGPROCMASK, sigSetMask, uintptr(unsafe.Pointer(&old)), 0, 8)
	return pid, e
}

// live is the life of the guard process.
//
//go:norace
//go:nosplit
//go:nocheckptr
func live(words []uint64) {
	raw(syscall.SYS_SETSID, 0, 0, 0, 0)
	root := uint16('/')
	raw(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(&root)), 0, 0, 0)
	raw(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(&words[nameWord])), 0, 0)
	goAhead()
	dropBallast(words, uintptr(unsafe.Pointer(&root)))
	lift(words[:firstRecord]) // of nothing, so that its pages are there
	words[byteWord] = words[firstRecord]
	awaitDeath(words)
	lift(words)
	for {
		raw(syscall.SYS_EXIT_GROUP, 0, 0, 0, 0)
	}
}

// awaitDeath returns when the owner of the futex has died.
//
//go:norace
//go:nosplit
//go:nocheckptr
func awaitDeath(words []uint64) {
	for {
		v := uint32(words[futexWord])
		if v&futexOwnerDied != 0 {
			return
		}
		raw(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&words[futexWord])), futexWait, uintptr(v), 0)
	}
}

// lift writes the original bytes back wherever ours stand, one at a time: the threads run, and may
// write to what lies between.
//
//go:norace
//go:nosplit
//go:nocheckptr
func lift(words []uint64) {
	b := (*byte)(unsafe.Pointer(&words[byteWord]))
	for i := 0; i < top(words); i++ {
		p, ok := read(words, i)
		if !ok {
			continue
		}
		n, _ := raw(syscall.SYS_PREAD64, uintptr(p.mem), uintptr(unsafe.Pointer(b)), 1, uintptr(p.addr))
		if n == 1 && *b == p.ours {
			*b = p.orig
			raw(syscall.SYS_PWRITE64, uintptr(p.mem), uintptr(unsafe.Pointer(b)), 1, uintptr(p.addr)) // or the text is gone
		}
	}
}

// Real-time scheduling that a thread does not pass on to those it makes (sched(7)).
const (
	schedFIFO        = 1
	schedResetOnFork = 1 << 30
)

// goAhead lets the calling thread run before all ordinary ones when it wakes, or before as many as
// we may.
//
//go:norace
//go:nosplit
//go:nocheckptr
func goAhead() {
	priority := int32(1)
	_, e := raw(syscall.SYS_SCHED_SETSCHEDULER, 0, schedFIFO|schedResetOnFork, uintptr(unsafe.Pointer(&priority)), 0)
	if e != 0 {
		highest := -20
		raw(syscall.SYS_SETPRIORITY, syscall.PRIO_PROCESS, 0, uintptr(highest), 0) // of this thread, in spite of the name
		ptrace.Prompt()
	}
}

//go:norace
//go:nosplit
//go:nocheckptr
func raw(nr, a, b, c, d uintptr) (uintptr, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(nr, a, b, c, d, 0, 0)
	return n, e
}
