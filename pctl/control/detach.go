package control

import (
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// To be detached a thread has to be stopped, and a stop ends what its system call was
// transferring. So a thread that needs no detaching is left to the kernel, which lets go
// of it without waking it when this OS thread ends (exit_ptrace in kernel/ptrace.c).

// leaver ends the tracing of single threads.
type leaver struct {
	g         *tracees
	abandoned int // threads that could not be detached
	asleep    int // so many of those sleep uninterruptibly
}

// detachEach lets each thread go by itself: where there are no traps, nobody has to wait
// for the others, and a thread that needs no detaching is left to the kernel.
func (l *leaver) detachEach() {
	if l.g.phase.gone() {
		l.g.enter(phaseEndDetaching)
	} else {
		l.g.enter(phaseDetaching)
	}
	l.g.waiter.drain()
	for len(l.g.threads) > 0 && !l.g.phase.over() {
		pending := make([]*thread, 0, len(l.g.threads))
		sampled := make(map[*thread]bool) // interrupted before, for a look
		for _, t := range l.g.threads {
			switch {
			case t.child != nil:
				continue // parts when the child is gone
			case t.m.state == stateStopped:
				l.part(t)
				continue
			case t.m.awaits == awaitVfork, l.kernelMay(t):
				l.abandon(t)
				delete(l.g.threads, t.tid)
				continue
			}
			sampled[t] = t.m.asked
			l.g.interrupt(t, t.m.ask())
			pending = append(pending, t)
		}
		l.g.waiter.collect(pending, func(t *thread) bool { return l.g.has(t) }, func() {
			for _, t := range l.g.threads {
				if l.g.unresponsive(t, stuckForLeaving) || sampled[t] && l.starved(t) {
					l.abandon(t)
					delete(l.g.threads, t.tid)
					l.g.births.childGone(t.creator)
				}
			}
		})
	}
}

// kernelMay reports whether a thread that is not stopped may be left to the kernel. Not one
// that would be killed with us (PTRACE_O_EXITKILL); nor a child whose creator waits for its end
// of tracing; nor one that was interrupted, whose call may have to be made again; nor one that is to make its call again and has not begun: a
// signal has to give it its EINTR.
func (l *leaver) kernelMay(t *thread) bool {
	switch {
	case l.g.seizer.told == ModeKill:
		return false
	case t.m.asked, t.creator != nil:
		return false
	case t.rewound.pc == 0:
		return true
	}
	call, err := procfs.ReadSyscall(l.g.pidOf(t), t.tid)
	return err == nil && !call.Running
}

// part detaches one thread and forgets it.
func (l *leaver) part(t *thread) {
	l.leave(t)
	delete(l.g.threads, t.tid)
}

// copies reports whether a forked process is still to be cleaned and let go.
func (g *tracees) copies() bool {
	for _, t := range g.threads {
		if t.role == roleCopy {
			return true
		}
	}
	return false
}

// abandon leaves a thread that cannot be stopped to the kernel.
func (l *leaver) abandon(t *thread) {
	l.abandoned++
	l.g.trace.did(t, deedAbandon, 0, nil)
	if t.role == roleThread && (t.m.awaits == awaitVfork || t.stuck > 0) {
		l.asleep++
	}
}

// leave detaches one stopped thread.
func (l *leaver) leave(t *thread) {
	if t.m.state != stateStopped {
		l.abandon(t)
		return
	}
	lent := l.g.calls.grant(t)
	l.g.flushRegs(t)
	sig := t.m.signal
	if t.m.group {
		sig = 0
	}
	l.detach(t, sig)
	l.g.calls.repay(t, lent)
}

// detach has a stopped thread go on untraced. One that is being killed has left its stop,
// and is traced until it is gone: by a thread, for instance, that was let go before it and
// is in execve(2).
func (l *leaver) detach(t *thread, sig syscall.Signal) {
	l.g.reports.resuming(t)
	err := ptrace.Detach(t.tid, sig)
	l.g.trace.did(t, deedDetach, uint64(sig), err)
	if err != nil {
		l.abandoned++
	}
}

// stopProcess brings a held target into a group stop by a SIGSTOP of ours that one
// thread receives while the others stand; the kernel stops those as they are
// detached, before they run, and those that sleep uninterruptibly when they wake. It
// returns false if the target goes on: we may not signal it, or somebody has continued
// it since.
func (l *leaver) stopProcess() bool {
	if l.g.group.stopSignal.Load() != 0 {
		return true
	}
	if syscall.Kill(l.g.pid, syscall.SIGSTOP) != nil {
		return false
	}
	l.g.enter(phaseStopping)
	for t := l.anyStopped(); t != nil && l.g.group.stopSignal.Load() == 0; {
		l.g.runOn(t)
		switch {
		case !l.g.has(t): // it ended first, or was another's exec
			t = l.anyStopped()
		case t.m.signal == syscall.SIGCONT:
			return false
		}
	}
	return true // to be received by who wakes first, if nobody could be stopped
}

// anyStopped returns a thread that goes on to its signals as soon as it is resumed: not
// one that is on its way into the sleep of vfork(2).
func (l *leaver) anyStopped() *thread {
	for _, t := range l.g.threads {
		if t.role == roleThread && t.m.state == stateStopped && t.m.awaits != awaitVfork {
			return t
		}
	}
	return nil
}
