package control

import "ptools/internal/tracee"

// Where /proc/PID/mem may not be opened, as with CAP_SYS_PTRACE alone, text is written word by word
// through a thread that stands in a ptrace stop (PTRACE_POKEDATA). So traps are planted and lifted
// only while a thread stands: each time that none does, all are stopped for that.

// still calls f, which plants or lifts traps, while a thread stands, if that is needed. If no thread
// can be stopped the error is ErrUnreached, and f is not called.
func (x *traps) still(f func() error) error {
	if !x.g.Memory.Pokes() || x.g.Standing() != nil {
		return f()
	}
	x.g.Stopper.StopAtOnce()
	defer x.g.Stopper.ResumeAll()
	switch {
	case x.g.Phase().Over():
		return ErrEnded
	case x.g.Standing() == nil:
		return tracee.ErrUnreached
	}
	return f()
}

// stillAtLast is still for what must not be left undone: it waits for a thread to stop. One that
// sleeps uninterruptibly does when it wakes, before it runs.
func (x *traps) stillAtLast(f func()) {
	if x.g.Memory.Pokes() && x.g.Standing() == nil {
		x.g.Stopper.StopAtOnce()
		defer x.g.Stopper.ResumeAll()
		x.awaitStanding()
	}
	if !x.g.Phase().Over() {
		f()
	}
}

// awaitStanding returns when a thread stands, and lifts the traps that are in the text because none
// has until now. All are being stopped.
func (x *traps) awaitStanding() {
	if !x.g.Memory.Pokes() || x.table.Len() == 0 || x.g.Standing() != nil {
		return
	}
	if x.g.Waiter.Until(func() bool { return x.g.Standing() != nil }, nil) {
		x.table.Disarm()
	}
}
