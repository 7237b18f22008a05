package control

import (
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// signalled handles a signal-delivery-stop: the signal is the target's unless it is
// the trap of a breakpoint.
func (c *Controller) signalled(t *thread) {
	sig := t.m.signal
	if sig == syscall.SIGTRAP && c.trapped(t) {
		c.takeSignal(t)
		return
	}
	if c.probed(t) {
		return
	}
	c.moveOut(t)
	c.undoRewind(t)
	if c.wouldIgnore(t, sig) {
		c.rewind(t)
	}
	if t.role == roleThread {
		c.caught(t)
	}
}

// takeSignal keeps a signal of ours from the thread that is stopped for it.
func (c *Controller) takeSignal(t *thread) {
	if sig := t.m.signal; sig != 0 {
		t.m.signal = 0
		c.trace.did(t, deedTake, uint64(sig), nil)
	}
}

// beginsStop tells the signals that stop a process unless it handles them.
func beginsStop(sig syscall.Signal) bool {
	return sig == syscall.SIGSTOP || sig == syscall.SIGTSTP || sig == syscall.SIGTTIN || sig == syscall.SIGTTOU
}

// groupStopped handles one thread's part in a group stop. The report may come when the stop
// is over, which shows when the thread goes on to listen (listens). Of one that does not,
// because it is held, a stop is believed unless no signal has begun another since the last.
func (c *Controller) groupStopped(t *thread, sig syscall.Signal) {
	t.inGroup, t.groupSignal, t.groupStop = true, sig, 0
	if c.stopped.Load() != 0 || t.m.holds > 0 && !c.resumed {
		c.joinStop(t)
	}
}

// listens is called when a thread in a group stop has been told to wait for its end. If that
// was before, the kernel has woken it, and it is on its way to its report of that or there.
func (c *Controller) listens(t *thread) {
	st, err := procfs.ReadTaskStat(c.pidOf(t), t.tid)
	if err != nil || st.State != 't' {
		return
	}
	if s, err := ptrace.PeekTID(t.tid, false); err == nil && s.Kind == ptrace.KindNone {
		c.joinStop(t)
	}
}

// joinStop notes a thread that takes part in a group stop, and tells of it if it is the first.
// Another one may begin before all threads have told the end of this one. Where it began before
// a thread listens, that reports it, and no end; so its end is of the stop that it has joined.
func (c *Controller) joinStop(t *thread) {
	if t.role != roleThread {
		return
	}
	if c.stopped.Load() == 0 {
		c.stopped.Store(uint32(t.groupSignal))
		c.stops++
		if !c.leaving { // else the SIGSTOP is ours
			c.publish(notify.Event{Kind: notify.GroupStop, TID: t.tid, Signal: int(t.groupSignal)})
		}
	}
	t.groupStop = c.stops
}

// eventStopped handles PTRACE_EVENT_STOP: a birth, our interrupt, or the end of a
// group stop.
func (c *Controller) eventStopped(t *thread) {
	switch {
	case t.fresh:
		t.fresh = false
		c.moveOut(t)
	case t.inGroup:
		t.inGroup = false
		c.unspare(t)
		if t.role == roleThread && c.stopped.Load() != 0 && t.groupStop == c.stops {
			c.resumed = true
			c.stopped.Store(0)
			c.publish(notify.Event{Kind: notify.GroupContinue, TID: t.tid, Signal: int(syscall.SIGCONT)})
		}
	default:
		if c.trapPending(t) || c.uprobeHitPending(t) {
			// It has executed a trap that the kernel reports after this stop.
			c.awaitTrap(t)
			return
		}
		c.moveOut(t)
		c.rewind(t)
	}
}

// spare keeps our death from killing a thread of a process that somebody else has stopped, for
// as long as the group stop lasts: whoever stopped it decides about it. unspare ends that before
// the thread runs.
func (c *Controller) spare(t *thread) {
	if c.opt.Mode == ModeKill && t.role == roleThread {
		ptrace.SetOptions(t.tid, c.options(ModeRun)) // ESRCH: it is being killed
	}
}

func (c *Controller) unspare(t *thread) {
	if c.opt.Mode == ModeKill && t.role == roleThread {
		ptrace.SetOptions(t.tid, c.options(ModeKill))
	}
}

// wouldIgnore reports whether the target would not have noticed the signal if it
// were not traced. The kernel reports ignored signals to a tracer and wakes the
// thread for them.
func (c *Controller) wouldIgnore(t *thread, sig syscall.Signal) bool {
	if c.loadRegs(t) != nil {
		return false
	}
	if _, result, ok := t.regs.SyscallReturn(); !ok || result != -int64(syscall.EINTR) {
		return false // nothing was interrupted that the kernel will not restart
	}
	st, err := procfs.ReadTaskStatus(c.pidOf(t), t.tid)
	if err != nil {
		return false
	}
	bit := uint64(1) << (sig - 1)
	if st.SigIgn&bit != 0 {
		return true
	}
	switch sig {
	case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGWINCH, syscall.SIGCONT:
		return st.SigCgt&bit == 0
	}
	return false
}

// pidOf returns the process that a traced thread belongs to, for /proc.
func (c *Controller) pidOf(t *thread) int {
	if t.role == roleThread {
		return c.pid
	}
	return t.tid
}
