package guard

import (
	"syscall"
	"unsafe"

	"ptools/internal/ptrace"
)

// The guard process is a fork of this one that never returns to Go. It has no runtime, and no lock
// can be relied on, so its threads only make system calls. What they need is on their stacks and in
// the shared memory. The rest of its memory is a copy of ours, which grows as ours changes. The guard
// process gives it back (MADV_DONTNEED).

// Words of the first page that belong to the guard process.
const (
	byteWord     = 0                              // a buffer of one byte for each pair
	nameWord     = mostPairs                      // two words: its command's name, padded with zeros; its arguments are ours
	pidWord      = nameWord + 2                   // the PID of this program
	pairsWord    = pidWord + 1                    // how many pairs of threads there are
	pairWord     = pairsWord + 1                  // the first of them
	dontNeedWord = pairWord + mostPairs*pairWords // start and end of memory ranges that it does not need; 0 ends the list
)

// descents is how often descendants are looked for again when control has ended, after pauses of 1, 4 and 16 ms.
const descents = 3

// longestPause is the longest time, in ns, that the guard process waits before it looks again for threads that write
// traps.
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

// fork makes the guard process. The guard process shares our descriptors: a /proc/PID/mem that is opened
// later is open in it too. It has no exit signal. So waits of the program for any child do not see it,
// and its end sends no SIGCHLD (wait(2), __WCLONE). Every signal is blocked in it, except SIGKILL and
// SIGSTOP, which cannot be: a signal that asks a group of processes to end is for the guarded process.
//
//go:norace
//go:nosplit
//go:nocheckptr
func fork(words []uint64) (pid uintptr, e syscall.Errno) {
	all, old := ^uint64(0), uint64(0)
	raw(syscall.SYS_RT_SIGPROCMASK, sigSetMask, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), 8)
	setPriority(deathWatchLevel, schedFIFO) // the guard process inherits it
	pid, e = raw(syscall.SYS_CLONE, syscall.CLONE_FILES, 0, 0, 0)
	if e == 0 && pid == 0 {
		live(words)
	}
	setPriority(deathWatchLevel, schedFIFO|schedResetOnFork)
	raw(syscall.SYS_RT_SIGPROCMASK, sigSetMask, uintptr(unsafe.Pointer(&old)), 0, 8)
	return pid, e
}

// live is the main function of the guard process.
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

// watchOver is the main function of each thread of the guard process. The first thread that learns of our
// death lifts the traps. Another one that learns of it meanwhile does the same work once more.
//
//go:norace
//go:nosplit
//go:nocheckptr
func watchOver(words []uint64, i int) {
	p := pair(words, i)
	moveTo(p[cpuWord])
	goAhead(guardLevel)
	// All that is needed at our death has to be in memory: what lift uses, and what the kernel writes
	// when a thread is put on a processor (rseq(2), which a C library has registered).
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
		moment.Nsec = min(2*moment.Nsec, longestPause) // the thread may never end, in an uninterruptible sleep
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

// writing reports whether a thread that has written traps still exists. A thread that is killed in the
// system call that writes, or on its way into that, finishes the call first. That may come after the
// traps were lifted, if the host has taken the thread's processor away.
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

// lift writes the original bytes back where our bytes are. It writes one byte at a time: the target's
// threads run, and may write to the memory between. The traps that were planted last come first; those
// of our own were planted before them. Every second thread begins at the other end, so that two threads
// do not work on the same pages.
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

// lift writes the original byte back into a memory if our byte is there. b is work space.
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

// Real-time scheduling. With schedResetOnFork a thread does not pass it on to threads that it makes (sched(7)).
const (
	schedFIFO        = 1
	schedResetOnFork = 1 << 30
)

// Levels of goAhead. A thread of the guard process that is woken by the end of its death watch runs after
// it on the same processor. At the same level it would be moved to another processor, which may be asleep.
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

// goAhead lets the calling thread run before all ordinary threads when it wakes. Without the right to that,
// it lets it run before as many as possible.
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

// ready signals that a thread can do its work.
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
