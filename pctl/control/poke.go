package control

import "ptools/internal/tracee"

// Where /proc/PID/mem may not be opened, as with CAP_SYS_PTRACE alone, text is written word by word
// through a thread in a ptrace stop (PTRACE_POKEDATA). So traps are planted and lifted only while a
// thread is stopped. If none is, all are stopped for that, each time.

// still calls f, which plants or lifts traps. If that needs a stopped thread, it is called while one is
// stopped. If no thread can be stopped, the error is ErrUnreached and f is not called.
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

// stillAtLast is still for what must not be left undone: it waits until a thread has stopped. A thread
// that sleeps uninterruptibly stops when it wakes, before it runs.
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

// awaitStanding waits until a thread is stopped. Then it lifts the traps that are still in the text
// because none was until now. All threads are being stopped.
func (x *traps) awaitStanding() {
	if !x.g.Memory.Pokes() || x.table.Len() == 0 || x.g.Standing() != nil {
		return
	}
	if x.g.Waiter.Until(func() bool { return x.g.Standing() != nil }, nil) {
		x.table.Disarm()
	}
}
