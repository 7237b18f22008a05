package control

import (
	"context"
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/notify"
)

// parting is the end of control: the target is released, or has ended.
type parting struct {
	c       *Controller
	g       *tracee.Group
	freed   notify.Event // Released, to be published when nothing is traced any more
	lastEnd ptrace.Stop  // of a thread of the target
}

// detachAll detaches everything that is traced. First the traps leave the text. Then each
// thread is detached with the signal that it was about to receive. A thread that cannot be
// stopped, or sleeps in a system call, is detached by the kernel when this OS thread ends,
// moments later.
func (p *parting) detachAll() {
	if p.g.Stopper.Holds() == 0 {
		p.stopAwake()
	}
	p.g.Stopper.StopAll()
	if p.g.Phase().Over() {
		return
	}
	p.c.traps.probes.takeUprobeHits()
	p.c.traps.awaitStanding()
	p.c.traps.disarm()
	for _, t := range p.g.Threads {
		if t.M.Awaits() == tracee.AwaitParked {
			p.g.Stopper.Expect(t)
		}
	}
	p.g.Stopper.Await(tracee.StuckForLeaving)
	// Processes that they have forked meanwhile have traps that only the table knows.
	p.g.Waiter.Until(func() bool { return !p.g.Leaver.Copies() }, nil)
	p.c.traps.forgetBreaks()
	for _, t := range p.g.RunnersFirst() {
		p.g.Leaver.Leave(t)
	}
	for _, t := range p.g.Threads {
		p.g.Forget(t)
	}
}

// Release releases the target. Idempotent: if the target was released or has ended, it returns
// nil. It returns when nothing of the target is traced any more, except after Leave. ctx bounds
// the wait until the control goroutine begins.
func (c *Controller) Release(ctx context.Context, m Mode) error {
	err := c.tracees.Requests.Do(ctx, func() { c.parting.release(m) })
	switch err {
	case nil, ErrReleased, ErrEnded:
		switch {
		case !c.tracees.Leaving.Load() || c.opt.Follow == nil && !c.following.isTree.Load():
			<-c.done
		case c.opt.Follow == nil && !c.opt.unread:
			c.AwaitAll()
		}
		return nil
	}
	return err
}

func (p *parting) release(m Mode) {
	p.c.traps.tellUnwatched()
	p.c.tellUncounted()
	// A program that is executed meanwhile is not stopped, and gets no traps.
	p.c.rendezvous.points, p.c.rendezvous.here, p.c.image.symbolic, p.c.catches, p.c.opt.Linker = 0, nil, nil, nil, false
	if m == ModeKill && p.g.Group.StopSignal.Load() != 0 {
		m = ModeStop // it is stopped from outside, and left stopped
	}
	if m == ModeKill {
		syscall.Kill(p.g.PID, syscall.SIGKILL)
		p.g.Waiter.Until(func() bool { return false }, nil)
		return
	}
	if m == ModeRun {
		p.letAllGo()
	} else {
		p.g.Stopper.StopAll()
		if !p.g.Phase().Over() && !p.g.Leaver.StopProcess() {
			m = ModeRun
		}
		p.detachAll()
	}
	p.free(m)
}

// free notes that the target has been released.
func (p *parting) free(m Mode) {
	if p.g.Phase().Over() {
		return
	}
	if len(p.c.traps.former) > 0 { // an exec has ended threads that may have forked before (TestForkBeforeExec)
		p.endStrays()
		if p.g.Phase().Over() {
			return
		}
	}
	p.c.rendezvous.held.Store(0)
	if p.g.Group.StopSignal.Load() != 0 {
		m = ModeStop // from outside
	}
	e := notify.Event{Kind: notify.Released, Mode: m.String()}
	if m == ModeStop {
		e.Threads = p.g.Leaver.Asleep
	}
	p.freed = e
	if m == ModeStop {
		p.g.Enter(tracee.PhaseLeftStopped)
	} else {
		p.g.Enter(tracee.PhaseReleased)
	}
	p.g.Requests.Close(ErrReleased)
}

// finish ends control: the target is gone. Processes that shared its memory, or were just
// forked, are detached (TestForkBeforeEnd).
func (p *parting) finish(err error) {
	p.c.rendezvous.held.Store(0)
	if p.g.Phase().Detaches() {
		p.g.Enter(tracee.PhaseEndDetaching)
	} else {
		p.g.Enter(tracee.PhaseEnding)
	}
	p.endStrays()
	p.g.Enter(tracee.PhaseEnded)
	p.g.Requests.Close(err)
}

// endStrays ends the tracing of what is still traced, also of processes that have not been reported by their creators.
func (p *parting) endStrays() {
	p.g.Births.AwaitStrays()
	if len(p.g.Threads) > 0 {
		p.letAllGo()
	}
}

// letAllGo ends the tracing of everything that is traced.
func (p *parting) letAllGo() {
	if p.untouched() {
		p.g.Leaver.DetachEach()
	} else {
		p.detachAll()
	}
}

// untouched reports whether all threads can be detached as they are. That is so if no thread
// can be at a trap of ours, in a scratch slot, or about to receive a signal of ours or the
// SIGTRAP of a step, and none has to stay stopped.
func (p *parting) untouched() bool {
	for _, t := range p.g.Threads {
		if t.M.Position() != tracee.PosFree {
			return false
		}
	}
	return p.g.Stopper.Holds() == 0 && p.c.traps.table.Len() == 0 && !p.c.traps.stepper.reserved && p.c.traps.probes.signals == nil
}

// stopAwake stops all threads but those that sleep in a system call, and takes the traps out of
// the text. Then it leaves the threads that still sleep to the kernel. Such a thread has hit no
// trap that was not handled, and hits none any more.
func (p *parting) stopAwake() {
	p.g.Seizer.NewbornSeized = true // no trap is planted any more
	if p.c.traps.probes.signals != nil {
		p.c.traps.probes.signals.Switch(false)
	}
	p.g.Stopper.StopBut(p.restful)
	if !p.g.Waiter.Until(func() bool { return !p.g.Leaver.Copies() }, nil) {
		return
	}
	if p.c.traps.table.Armed() {
		p.c.traps.hideLeaving()
		p.g.Trace.About(p.g.PID, tracee.DeedDisarm, 0, nil)
		p.c.traps.table.Disarm()
		p.c.traps.tellEnded()
	}
	for _, t := range p.g.Threads {
		if t.M.Holds() == 0 && p.restful(t) {
			p.g.Leaver.Abandon(t)
			p.g.Forget(t)
		}
	}
}

// restful reports whether a thread sleeps in a system call of its own making and has no signal
// of ours pending. Such a thread can be left to the kernel when the traps are out of the text.
func (p *parting) restful(t *tracee.Thread) bool {
	if t.M.State() != tracee.StateRunning || t.M.Position() != tracee.PosFree || trapsOf(t).uprobe.unmasked || !p.g.Leaver.KernelMay(t) {
		return false
	}
	pid := p.g.PIDOf(t)
	call, err := procfs.ReadSyscall(pid, t.TID)
	if err != nil || call.Running || call.Nr < 0 {
		return false
	}
	st, err := procfs.ReadTaskStat(pid, t.TID)
	return err == nil && st.State == 'S' && !p.c.traps.signalDue(t)
}
