package sample

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// napping returns the function that waits for the next round. For a timer of the Go
// runtime, one of the runtime's threads sleeps in epoll_wait, another takes over its work,
// and a third wakes every 20 us to watch them. That happens in each round, and was half of
// the cost of a profile at 999 samples a second. During a system call that the runtime does
// not know of, all these threads sleep. The call also occupies one of the runtime's
// processors, so there must be another for the control goroutines. The runtime's preemption
// signal, every 10 ms, ends a nap.
func napping() func(time.Duration) {
	if runtime.GOMAXPROCS(0) == 1 {
		return time.Sleep
	}
	return func(d time.Duration) {
		ts := syscall.NsecToTimespec(int64(d))
		syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
	}
}
