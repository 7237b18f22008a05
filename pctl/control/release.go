package control

import (
	"context"
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// parting is the end of control: the target is let go, or has ended.
type parting struct {
	c       *Controller
	g       *tracees
	freed   notify.Event // that tells of the release, when nothing is traced any more
	lastEnd ptrace.Stop  // of a thread of the target
}

// detachAll lets go of everything that is traced: traps leave the text, then each
// thread is detached with the signal that it was about to receive. A thread that
// cannot be stopped, or sleeps in a system call, is let go by the kernel when this OS
// thread ends, moments later.
func (p *parting) detachAll() {
	if p.g.holds == 0 {
		p.stopAwake()
	}
	p.g.stopAll()
	if p.g.phase.over() {
		return
	}
	p.c.traps.probes.takeUprobeHits()
	p.c.traps.awaitStanding()
	p.c.traps.liftAll()
	for _, t := range p.g.threads {
		if t.m.awaits == awaitParked {
			p.g.expect(t)
		}
	}
	p.g.await(stuckForLeaving)
	p.g.waiter.until(func() bool { return !p.g.copies() }, nil)
	for _, t := range p.g.runnersFirst() {
		p.g.leaver.leave(t)
	}
	clear(p.g.threads)
}

// Release lets the target go. Idempotent: of a target that was let go or has ended
// it returns nil. ctx bounds the wait for the control goroutine to begin.
func (c *Controller) Release(ctx context.Context, m Mode) error {
	err := c.tracees.requests.do(ctx, func() { c.parting.release(m) })
	switch err {
	case nil, ErrReleased, ErrEnded:
		<-c.done
		return nil
	}
	return err
}

func (p *parting) release(m Mode) {
	// A program that is executed meanwhile is not stopped, and gets no traps.
	p.c.rendezvous.points, p.c.rendezvous.here, p.c.image.symbolic, p.c.catches, p.c.opt.Linker = 0, nil, nil, nil, false
	if m == ModeKill && p.g.group.stopSignal.Load() != 0 {
		m = ModeStop // by somebody else, who decides about it
	}
	if m == ModeKill {
		syscall.Kill(p.g.pid, syscall.SIGKILL)
		p.g.waiter.until(func() bool { return false }, nil)
		return
	}
	if m == ModeRun {
		p.letAllGo()
	} else {
		p.g.stopAll()
		if !p.g.phase.over() && !p.g.leaver.stopProcess() {
			m = ModeRun
		}
		p.detachAll()
	}
	p.free(m)
}

// free notes that the target has been let go.
func (p *parting) free(m Mode) {
	if p.g.phase.over() {
		return
	}
	p.c.rendezvous.held.Store(0)
	if p.g.group.stopSignal.Load() != 0 {
		m = ModeStop // by whoever stopped it
	}
	e := notify.Event{Kind: notify.Released, Mode: m.String()}
	if m == ModeStop {
		e.Threads = p.g.leaver.asleep
	}
	p.freed = e
	if m == ModeStop {
		p.g.enter(phaseLeftStopped)
	} else {
		p.g.enter(phaseReleased)
	}
	p.g.requests.closeQueue(ErrReleased)
}

// finish ends control: the target is gone. Processes that shared its memory, or were
// just forked, are let go.
func (p *parting) finish(err error) {
	p.c.rendezvous.held.Store(0)
	if p.g.phase.detaches() {
		p.g.enter(phaseEndDetaching)
	} else {
		p.g.enter(phaseEnding)
	}
	if len(p.g.threads) > 0 {
		p.letAllGo()
	}
	p.g.enter(phaseEnded)
	p.g.requests.closeQueue(err)
}

// letAllGo ends the tracing of everything that is traced.
func (p *parting) letAllGo() {
	if p.untouched() {
		p.g.leaver.detachEach()
	} else {
		p.detachAll()
	}
}

// untouched reports whether no thread can be at a trap of ours, in a scratch area, or about to
// receive a signal of ours, and nobody has to stand still.
func (p *parting) untouched() bool {
	return p.g.holds == 0 && p.c.traps.table.Len() == 0 && !p.c.traps.stepper.reserved && p.c.traps.probes.signals == nil
}

// stopAwake stops all threads but those that sleep in a system call, takes the traps out of
// the text and leaves those that still sleep to the kernel. One that sleeps then has met no
// trap that was not dealt with, and meets none any more.
func (p *parting) stopAwake() {
	p.g.holds++
	p.g.seizer.newbornSeized = true // no trap is planted any more
	if p.c.traps.probes.signals != nil {
		p.c.traps.probes.signals.Switch(false)
	}
	for _, t := range p.g.threads {
		if t.role != roleCopy && t.m.holds == 0 && !p.restful(t) {
			p.g.hold(t)
		}
	}
	p.g.await(stuckFor)
	if !p.g.waiter.until(func() bool { return !p.g.copies() }, nil) {
		return
	}
	if p.c.traps.table.Armed() {
		p.c.traps.hideLeaving()
		p.g.trace.about(p.g.pid, deedDisarm, 0, nil)
		p.c.traps.table.Disarm()
		p.c.traps.tellEnded()
	}
	for _, t := range p.g.threads {
		if t.m.holds == 0 && p.restful(t) {
			p.g.leaver.abandon(t)
			delete(p.g.threads, t.tid)
		}
	}
}

// restful reports whether a thread sleeps in a system call of its own making, and none of our
// signals waits for it: it can be left to the kernel when the traps are out of the text.
func (p *parting) restful(t *thread) bool {
	if t.m.state != stateRunning || t.m.position != posFree || t.uprobe.unmasked || !p.g.leaver.kernelMay(t) {
		return false
	}
	pid := p.g.pidOf(t)
	call, err := procfs.ReadSyscall(pid, t.tid)
	if err != nil || call.Running || call.Nr < 0 {
		return false
	}
	st, err := procfs.ReadTaskStat(pid, t.tid)
	return err == nil && st.State == 'S' && !p.c.traps.signalDue(t)
}
