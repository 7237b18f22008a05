package guard

import (
	"runtime"
	"syscall"
)

// A canary is an OS thread that does nothing, ahead of all others: when this process is killed it is
// the first to end. The guard waits for that with a pidfd. The control thread comes to its end, and
// lets its tracees go, whenever it is given a processor, and until then they stop at traps for which
// nobody answers any more; the socket stays open until the last thread has taken down our memory.
type canary struct {
	fd   int // -1: there is no such thing
	over chan struct{}
	gone chan struct{}
}

// pidfd_open(2), which has the same number on every processor, and its flag for a thread that leads
// no process (Linux 6.9).
const (
	sysPidfdOpen = 434
	pidfdThread  = syscall.O_EXCL
)

// newCanary starts the goroutine, which ends, and its thread with it, in close.
func newCanary() *canary {
	c := &canary{over: make(chan struct{}), gone: make(chan struct{})}
	ready := make(chan struct{})
	go func() {
		defer close(c.gone)
		runtime.LockOSThread()
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, -20) // of this thread, if we may
		fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(syscall.Gettid()), pidfdThread, 0)
		if c.fd = int(fd); errno != 0 {
			c.fd = -1
		}
		close(ready)
		<-c.over
	}()
	<-ready
	return c
}

func (c *canary) close() {
	close(c.over)
	<-c.gone
	if c.fd >= 0 {
		syscall.Close(c.fd)
	}
}
