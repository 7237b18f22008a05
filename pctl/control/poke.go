package control

import (
	"errors"
	"syscall"

	"ptools/internal/mem"
	"ptools/internal/ptrace"
)

// Where /proc/PID/mem may not be opened, as with CAP_SYS_PTRACE alone, text is written word by word
// through a thread that stands in a ptrace stop (PTRACE_POKEDATA). So traps are planted and lifted
// only while a thread stands: each time that none does, all are stopped for that.

// pokedMemory is the memory of such a target. Reading needs no stop.
type pokedMemory struct {
	*mem.Memory
	c *Controller
}

// errUnreached is the error of writing where every thread sleeps uninterruptibly.
var errUnreached = errors.New("no thread of the process can be stopped, through which its memory could be written")

// ReadAt reads through a thread that stands where the target has ended, and another process that shared
// its memory has not.
func (m pokedMemory) ReadAt(p []byte, addr int64) (int, error) {
	n, err := m.Memory.ReadAt(p, addr)
	if err != syscall.ESRCH {
		return n, err
	}
	t := m.c.standing()
	if t == nil {
		return n, err
	}
	return ptrace.Memory{TID: t.tid}.ReadAt(p, addr)
}

// WriteAt writes through a thread that stands.
func (m pokedMemory) WriteAt(p []byte, addr int64) (int, error) {
	t := m.c.standing()
	if t == nil {
		return 0, errUnreached
	}
	n, err := ptrace.Memory{TID: t.tid}.WriteAt(p, addr)
	if err == syscall.EIO {
		err = syscall.EFAULT
	}
	return n, err
}

// pokes reports whether the target's memory can be written only through a thread that stands.
func (c *Controller) pokes() bool {
	_, ok := c.mem.(pokedMemory)
	return ok
}

// standing returns a thread in a ptrace stop that has the target's memory, if possible one of the
// target itself; nil if there is none.
func (c *Controller) standing() *thread {
	var sharer *thread
	for _, t := range c.threads {
		switch {
		case t.m.state != stateStopped || t.role == roleCopy:
		case t.role == roleThread:
			return t
		default:
			sharer = t
		}
	}
	return sharer
}

// still calls f, which plants or lifts traps, while a thread stands, if that is needed. If no thread
// can be stopped the error is errUnreached, and f is not called.
func (c *Controller) still(f func() error) error {
	if !c.pokes() || c.standing() != nil {
		return f()
	}
	c.stopAtOnce()
	defer c.resumeAll()
	switch {
	case c.over:
		return ErrEnded
	case c.standing() == nil:
		return errUnreached
	}
	return f()
}

// stillAtLast is still for what must not be left undone: it waits for a thread to stop. One that
// sleeps uninterruptibly does when it wakes, before it runs.
func (c *Controller) stillAtLast(f func()) {
	if c.pokes() && c.standing() == nil {
		c.stopAtOnce()
		defer c.resumeAll()
		c.awaitStanding()
	}
	if !c.over {
		f()
	}
}

// awaitStanding returns when a thread stands, and lifts the traps that are in the text because none
// has until now. All are being stopped.
func (c *Controller) awaitStanding() {
	if !c.pokes() || c.table.Len() == 0 || c.standing() != nil {
		return
	}
	if c.until(func() bool { return c.standing() != nil }, nil) {
		c.table.Disarm()
	}
}
