package ptrace

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shortSlice is the least slice of processor time, in nanoseconds, that a thread may ask for.
const shortSlice = 100_000

// Prompt asks for short slices of processor time for the calling OS thread. The thread gets no
// more processor time, and waits less: when it wakes it preempts a thread with longer slices
// (Linux 6.12; PREEMPT_SHORT in kernel/sched/features.h). Otherwise one wake-up in a hundred
// takes milliseconds on a busy machine, and a target waits that long. No privilege is needed.
// Threads and processes that the thread makes have slices as usual. An older kernel ignores the
// request.
//
//go:nosplit
//go:norace
//go:nocheckptr
func Prompt() {
	const fair = 1<<unix.SCHED_NORMAL | 1<<unix.SCHED_BATCH
	var attr unix.SchedAttr
	_, _, e := syscall.RawSyscall6(unix.SYS_SCHED_GETATTR, 0, uintptr(unsafe.Pointer(&attr)), unix.SizeofSchedAttr, 0, 0, 0)
	if e != 0 || fair&(1<<attr.Policy) == 0 {
		return
	}
	attr.Flags |= unix.SCHED_FLAG_RESET_ON_FORK
	attr.Runtime = shortSlice
	syscall.RawSyscall(unix.SYS_SCHED_SETATTR, 0, uintptr(unsafe.Pointer(&attr)), 0)
}

// Doze sleeps for a moment without notifying the Go scheduler. Otherwise the scheduler could use
// the thread for something else when it wakes.
func Doze(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}
