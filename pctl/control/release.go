package control

import (
	"context"
	"syscall"

	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// detachAll lets go of everything that is traced: traps leave the text, then each
// thread is detached with the signal that it was about to receive. A thread that
// cannot be stopped, or sleeps in a system call, is let go by the kernel when this OS
// thread ends, moments later.
func (c *Controller) detachAll() {
	if c.holds == 0 {
		c.stopAwake()
	}
	c.stopAll()
	if c.over {
		return
	}
	c.takeUprobeHits()
	c.awaitStanding()
	c.liftAll()
	for _, t := range c.threads {
		if t.parked && !t.vfork {
			t.awaited = true
			c.awaited++
		}
	}
	c.await(stuckForLeaving)
	c.until(func() bool { return !c.copies() }, nil)
	for _, t := range c.runnersFirst() {
		c.leave(t)
	}
	clear(c.threads)
}

// part detaches one thread and forgets it.
func (c *Controller) part(t *thread) {
	c.leave(t)
	delete(c.threads, t.tid)
}

// copies reports whether a forked process is still to be cleaned and let go.
func (c *Controller) copies() bool {
	for _, t := range c.threads {
		if t.role == roleCopy {
			return true
		}
	}
	return false
}

// abandon leaves a thread that cannot be stopped to the kernel.
func (c *Controller) abandon(t *thread) {
	c.left = true
	c.trace.did(t, deedAbandon, 0, nil)
	if t.role == roleThread && (t.vfork || t.stuck > 0) {
		c.asleep++
	}
}

// leave detaches one stopped thread.
func (c *Controller) leave(t *thread) {
	if t.m.state != stateStopped {
		c.abandon(t)
		return
	}
	lent := c.grant(t)
	c.flushRegs(t)
	sig := t.m.signal
	if t.m.group {
		sig = 0
	}
	c.detach(t, sig)
	c.repay(t, lent)
}

// detach has a stopped thread go on untraced. One that is being killed has left its stop,
// and is traced until it is gone: by a thread, for instance, that was let go before it and
// is in execve(2).
func (c *Controller) detach(t *thread, sig syscall.Signal) {
	c.resuming(t)
	err := ptrace.Detach(t.tid, sig)
	c.trace.did(t, deedDetach, uint64(sig), err)
	if err != nil {
		c.left = true
	}
}

// Release lets the target go. Idempotent: of a target that was let go or has ended
// it returns nil. ctx bounds the wait for the control goroutine to begin.
func (c *Controller) Release(ctx context.Context, m Mode) error {
	err := c.do(ctx, func() { c.release(m) })
	switch err {
	case nil, ErrReleased, ErrEnded:
		<-c.done
		return nil
	}
	return err
}

func (c *Controller) release(m Mode) {
	// A program that is executed meanwhile is not stopped, and gets no traps.
	c.points, c.here, c.symbolic, c.catches, c.opt.Linker = 0, nil, nil, nil, false
	if m == ModeKill && c.stopped.Load() != 0 {
		m = ModeStop // by somebody else, who decides about it
	}
	if m == ModeKill {
		syscall.Kill(c.pid, syscall.SIGKILL)
		c.until(func() bool { return false }, nil)
		return
	}
	if m == ModeRun {
		c.letAllGo()
	} else {
		c.stopAll()
		if !c.over && !c.stopProcess() {
			m = ModeRun
		}
		c.detachAll()
	}
	c.free(m)
}

// free notes that the target has been let go.
func (c *Controller) free(m Mode) {
	if c.over {
		return
	}
	c.held.Store(0)
	if c.stopped.Load() != 0 {
		m = ModeStop // by whoever stopped it
	}
	e := notify.Event{Kind: notify.Released, Mode: m.String()}
	if m == ModeStop {
		e.Threads = c.asleep
	}
	c.freed = e
	c.over = true
	c.closeQueue(ErrReleased)
}

// stopProcess brings a held target into a group stop by a SIGSTOP of ours that one
// thread receives while the others stand; the kernel stops those as they are
// detached, before they run, and those that sleep uninterruptibly when they wake. It
// returns false if the target goes on: we may not signal it, or somebody has continued
// it since.
func (c *Controller) stopProcess() bool {
	if c.stopped.Load() != 0 {
		return true
	}
	if syscall.Kill(c.pid, syscall.SIGSTOP) != nil {
		return false
	}
	c.leaving = true
	for t := c.anyStopped(); t != nil && c.stopped.Load() == 0; {
		c.runOn(t)
		c.until(func() bool { return t.m.state == stateStopped || c.threads[t.tid] != t }, nil)
		switch {
		case c.threads[t.tid] != t: // it ended first, or was another's exec
			t = c.anyStopped()
		case t.m.signal == syscall.SIGCONT:
			return false
		}
	}
	return true // to be received by who wakes first, if nobody could be stopped
}

// anyStopped returns a thread that goes on to its signals as soon as it is resumed: not
// one that is on its way into the sleep of vfork(2).
func (c *Controller) anyStopped() *thread {
	for _, t := range c.threads {
		if t.role == roleThread && t.m.state == stateStopped && !t.vfork {
			return t
		}
	}
	return nil
}
