package guard

import (
	"syscall"
	"unsafe"

	"ptools/internal/ptrace"
)

// The guard process is a fork of this one that never comes back to Go: it has no runtime, and
// no lock can be relied on, so its threads make system calls and nothing else. What they need is on
// their stacks and in the shared memory; the rest of its memory, a copy of ours that grows as
// ours changes, it gives back (MADV_DONTNEED).

// Words of the first page that are the guard process's.
const (
	byteWord     = 0                              // a buffer of one byte for each pair
	nameWord     = mostPairs                      // and the next: the name of its command, padded with zeros; its arguments are ours
	pidWord      = nameWord + 2                   // our number
	pairsWord    = pidWord + 1                    // how many pairs of threads there are
	pairWord     = pairsWord + 1                  // the first of them
	dontNeedWord = pairWord + mostPairs*pairWords // start and end of ranges of memory it can do without; 0 ends them
)

// descents is how often descendants are looked for again when control has ended, 1, 4, and 16 ms after each other.
const descents = 3

// longestPause is the most that the guard process waits before it looks again for threads that write traps, in ns.
const longestPause = 5e8

// mostPairs bounds the threads, of this program and of the guard process.
const mostPairs = 8

// pair returns the words of a pair of threads.
//
//go:norace
//go:nosplit
func pair(words []uint64, i int) []uint64 { return words[pairWord+i*pairWords:][:pairWords] }

// Bits and numbers of system calls that package syscall does not name.
const (
	prSetName  = 15
	futexWait  = 0
	futexWake  = 1
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
	setPriority(deathWatchLevel, schedFIFO) // which the guard process begins with
	pid, e = raw(syscall.SYS_CLONE, syscall.CLONE_FILES, 0, 0, 0)
	if e == 0 && pid == 0 {
		live(words)
	}
	setPriority(deathWatchLevel, schedFIFO|schedResetOnFork)
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
	dontNeed(words, uintptr(unsafe.Pointer(&root)))
	spawn(words)
	watchOver(words, 0)
}

// watchOver is the life of one thread of the guard process. The first of them that learns of our death
// does what is to be done; a second one that comes to the same work meanwhile does it once more.
//
//go:norace
//go:nosplit
//go:nocheckptr
func watchOver(words []uint64, i int) {
	p := pair(words, i)
	moveTo(p[cpuWord])
	goAhead(guardLevel)
	// All that is needed then is to be in memory: what lift uses, and what the kernel writes to
	// when a thread comes to a processor (rseq(2), which a C library has registered).
	lift(words[:firstRecord], i)
	words[byteWord+i] = words[firstRecord]
	descend(words[:firstRecord], i)
	moment := syscall.Timespec{Nsec: 1}
	raw(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&moment)), 0, 0, 0)
	ready(p)
	awaitDeath(p)
	lift(words, i)
	descend(words, i)
	moment.Nsec = 1e6
	for writing(words) {
		raw(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&moment)), 0, 0, 0)
		lift(words, i)
		descend(words, i)
		moment.Nsec = min(2*moment.Nsec, longestPause) // it may never end, in an uninterruptible sleep
	}
	lift(words, i)
	moment.Nsec = 1e6
	descend(words, i)
	for range descents {
		raw(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&moment)), 0, 0, 0)
		descend(words, i)
		moment.Nsec *= 4
	}
	for {
		raw(syscall.SYS_EXIT_GROUP, 0, 0, 0, 0)
	}
}

// writing reports whether a thread is still there that has written traps. One that was killed in the
// system call with which it writes, or on the way there, finishes that first: behind our back, if the
// host has taken its processor away.
//
//go:norace
//go:nosplit
//go:nocheckptr
func writing(words []uint64) bool {
	known := uint64(0)
	for n := range top(words) {
		tid := writer(words, n)
		if tid == known {
			continue
		}
		known = tid
		if _, e := raw(syscall.SYS_TGKILL, uintptr(words[pidWord]), uintptr(tid), 0, 0); e == 0 {
			return true
		}
	}
	return false
}

// awaitDeath returns when the owner of the futex has died.
//
//go:norace
//go:nosplit
//go:nocheckptr
func awaitDeath(p []uint64) {
	for {
		v := uint32(p[futexWord])
		if v&futexOwnerDied != 0 {
			return
		}
		raw(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&p[futexWord])), futexWait, uintptr(v), 0)
	}
}

// lift writes the original bytes back wherever ours stand, one at a time: the threads run, and may
// write to what lies between. What was planted last, after the traps of our own, comes first; a second
// thread begins at the other end, so that they do not meet at every page.
//
//go:norace
//go:nosplit
//go:nocheckptr
func lift(words []uint64, i int) {
	b := (*byte)(unsafe.Pointer(&words[byteWord+i]))
	records := top(words)
	for n := range records {
		if i%2 == 0 {
			n = records - 1 - n
		}
		p, ok := read(words, n)
		if !ok {
			continue
		}
		p.lift(uintptr(p.mem), b)
	}
}

// lift writes the original byte back into a memory if ours stands there. b is work space.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (p *patch) lift(mem uintptr, b *byte) {
	read, _ := raw(syscall.SYS_PREAD64, mem, uintptr(unsafe.Pointer(b)), 1, uintptr(p.addr))
	if read == 1 && *b == p.ours {
		*b = p.orig
		raw(syscall.SYS_PWRITE64, mem, uintptr(unsafe.Pointer(b)), 1, uintptr(p.addr)) // or the text is gone
	}
}

// Real-time scheduling that a thread does not pass on to those it makes (sched(7)).
const (
	schedFIFO        = 1
	schedResetOnFork = 1 << 30
)

// Levels of goAhead. A thread of the guard process that is woken by the end of its death watch follows
// it on the same processor; at the same level it would be sent to another one, which may be asleep.
const (
	deathWatchLevel = 2
	guardLevel      = 3
)

// moveTo keeps the calling thread on a processor.
//
//go:norace
//go:nosplit
//go:nocheckptr
func moveTo(cpu uint64) {
	var set [1024 / 64]uint64
	set[cpu/64%uint64(len(set))] = 1 << (cpu % 64)
	raw(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)), 0)
}

// goAhead lets the calling thread run before all ordinary ones when it wakes, or before as many as
// we may.
//
//go:norace
//go:nosplit
//go:nocheckptr
func goAhead(level int32) {
	if setPriority(level, schedFIFO|schedResetOnFork) != 0 {
		highest := -20
		raw(syscall.SYS_SETPRIORITY, syscall.PRIO_PROCESS, 0, uintptr(highest), 0) // of this thread, in spite of the name
		ptrace.Prompt()
	}
}

// setPriority gives the calling thread a level of a real-time policy.
//
//go:norace
//go:nosplit
//go:nocheckptr
func setPriority(level int32, policy uintptr) syscall.Errno {
	_, e := raw(syscall.SYS_SCHED_SETSCHEDULER, 0, policy, uintptr(unsafe.Pointer(&level)), 0)
	return e
}

// ready tells that a thread can do its work.
//
//go:norace
//go:nosplit
//go:nocheckptr
func ready(p []uint64) {
	p[readyWord] = 1
	raw(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&p[readyWord])), futexWake, 1, 0)
}

//go:norace
//go:nosplit
//go:nocheckptr
func raw(nr, a, b, c, d uintptr) (uintptr, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(nr, a, b, c, d, 0, 0)
	return n, e
}
