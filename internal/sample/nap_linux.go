package sample

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// napping returns what waits for the next round. With a timer of the Go runtime one of its
// threads sleeps in epoll_wait, another takes the work over from it, and a third wakes
// every 20 us to watch them, for each round anew: of what a profile at 999 samples a second
// cost, half. A system call of which the runtime is not told keeps all that asleep. It
// keeps one of the runtime's processors too, so there must be another for what
// controls the targets. The runtime's signal to make room, every 10 ms, ends a nap.
func napping() func(time.Duration) {
	if runtime.GOMAXPROCS(0) == 1 {
		return time.Sleep
	}
	return func(d time.Duration) {
		ts := syscall.NsecToTimespec(int64(d))
		syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
	}
}
