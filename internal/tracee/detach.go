package tracee

import (
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// To be detached a thread has to be stopped, and a stop ends what its system call was
// transferring. So a thread that needs no detaching is left to the kernel, which lets go
// of it without waking it when this OS thread ends (exit_ptrace in kernel/ptrace.c).

// Leaver ends the tracing of single threads.
type Leaver struct {
	g         *Group
	Abandoned int // threads that could not be detached
	Asleep    int // so many of those sleep uninterruptibly
}

// DetachEach lets each thread go by itself: where there are no traps, no thread has to wait
// for the others, and a thread that needs no detaching is left to the kernel.
func (l *Leaver) DetachEach() {
	if l.g.phase.Gone() {
		l.g.Enter(PhaseEndDetaching)
	} else {
		l.g.Enter(PhaseDetaching)
	}
	l.g.Waiter.drain()
	for len(l.g.Threads) > 0 && !l.g.phase.Over() {
		pending := make([]*Thread, 0, len(l.g.Threads))
		sampled := make(map[*Thread]bool) // interrupted before, for a look
		for _, t := range l.g.Threads {
			switch {
			case t.child != nil:
				continue // parts when the child is gone
			case t.M.state == StateStopped:
				l.part(t)
				continue
			case t.M.awaits == AwaitVfork, l.KernelMay(t):
				l.Abandon(t)
				l.g.Forget(t)
				continue
			}
			sampled[t] = t.M.asked
			l.g.Stopper.Interrupt(t, t.M.Ask())
			pending = append(pending, t)
		}
		l.g.Waiter.collect(pending, func(t *Thread) bool { return l.g.Has(t) }, func() {
			for _, t := range l.g.Threads {
				if l.g.Stopper.Unresponsive(t, StuckForLeaving) || sampled[t] && l.starved(t) {
					l.Abandon(t)
					l.g.Forget(t)
					l.g.Births.ChildGone(t.Creator)
				}
			}
		})
	}
}

// KernelMay reports whether a thread that is not stopped may be left to the kernel. Not one that makes a step: the kernel
// leaves it the processor's trap flag, whose SIGTRAP ends the process; nor one
// that would be killed with us (PTRACE_O_EXITKILL); nor one whose tracer does not end; nor a child whose creator
// waits for its end of tracing; nor one that was interrupted, whose call may have to be made again; nor one that is
// to make its call again and has not begun: a signal has to give it its EINTR.
func (l *Leaver) KernelMay(t *Thread) bool {
	switch {
	case l.g.Seizer.Told == ModeKill:
		return false
	case !l.g.Alone(l.g) && !l.g.Leaving.Load():
		return false // this thread goes on with other processes
	case t.M.asked, t.Creator != nil, t.M.position != PosFree:
		return false
	case t.rewound.pc == 0:
		return true
	}
	call, err := procfs.ReadSyscall(l.g.PIDOf(t), t.TID)
	return err == nil && !call.Running && call.PC != t.rewound.pc // that: the stop's, while it is being woken
}

// part detaches one thread and forgets it.
func (l *Leaver) part(t *Thread) {
	l.Leave(t)
	l.g.Forget(t)
}

// Copies reports whether a forked process is still to be cleaned and let go.
func (l *Leaver) Copies() bool {
	for _, t := range l.g.Threads {
		if t.Role == RoleCopy {
			return true
		}
	}
	return false
}

// Abandon leaves a thread that cannot be stopped to the kernel.
func (l *Leaver) Abandon(t *Thread) {
	l.Abandoned++
	l.g.Trace.Did(t, DeedAbandon, 0, nil)
	if !l.g.Alone(l.g) {
		l.g.late[t.TID] = late{l.g, t}
		if !l.g.Leaving.Load() {
			l.g.Stopper.Interrupt(t, t.M.Ask())
		}
	}
	if t.Role == RoleThread && (t.M.awaits == AwaitVfork || t.stuck > 0) {
		l.Asleep++
	}
}

// Leave detaches one stopped thread.
func (l *Leaver) Leave(t *Thread) {
	if t.M.state != StateStopped {
		l.Abandon(t)
		return
	}
	lent := l.g.Calls.grant(t)
	l.g.FlushRegs(t)
	sig := t.M.signal
	if t.M.group {
		sig = 0
	}
	l.Detach(t, sig)
	l.g.Calls.repay(t, lent)
}

// Detach has a stopped thread go on untraced. One that is being killed has left its stop,
// and is traced until it is gone: by a thread, for instance, that was let go before it and
// is in execve(2).
func (l *Leaver) Detach(t *Thread, sig syscall.Signal) {
	l.g.Reports.Resuming(t)
	err := ptrace.Detach(t.TID, sig)
	l.g.Trace.Did(t, DeedDetach, uint64(sig), err)
	if err != nil {
		l.Abandoned++
	}
}

// StopProcess brings a held target into a group stop by a SIGSTOP of ours that one
// thread receives while the others stand; the kernel stops those as they are
// detached, before they run, and those that sleep uninterruptibly when they wake. It
// returns false if the target goes on: we may not signal it, or another process has continued
// it since.
func (l *Leaver) StopProcess() bool {
	if l.g.Group.StopSignal.Load() != 0 {
		return true
	}
	if syscall.Kill(l.g.PID, syscall.SIGSTOP) != nil {
		return false
	}
	l.g.Enter(PhaseStopping)
	for t := l.anyStopped(); t != nil && l.g.Group.StopSignal.Load() == 0; {
		if !l.receives(t) {
			l.frozen(t)
			return true // all receive it when they are thawed
		}
		switch {
		case !l.g.Has(t): // it ended first, or was another's exec
			t = l.anyStopped()
		case t.M.signal == syscall.SIGCONT:
			return false
		}
	}
	return true // to be received by the thread that wakes first, if none could be stopped
}

// receives has a thread go on to its signals, and returns when it has. It returns false of one that the freezer of its cgroup
// keeps from them (do_freezer_trap in kernel/signal.c): nothing else lets a thread sleep while a SIGSTOP waits for it.
func (l *Leaver) receives(t *Thread) bool {
	asleep := 0
	l.g.run(t, (*Machine).Pass)
	l.g.Waiter.Until(func() bool {
		return t.M.state == StateStopped || !l.g.Has(t) || asleep >= StuckForLeaving
	}, func() {
		st, err := procfs.ReadTaskStat(l.g.PIDOf(t), t.TID)
		if asleep++; err != nil || st.State != 'S' || t.M.position != PosFree {
			asleep = 0
		}
	})
	return t.M.state == StateStopped || !l.g.Has(t) || l.g.phase.Over()
}

// frozen notes that a thread and all others are to stop when they are thawed.
func (l *Leaver) frozen(t *Thread) {
	for _, other := range l.g.Threads {
		if other.Role == RoleThread && other != t {
			l.Asleep++
		}
	}
	t.stuck++ // so that it is counted when it is left behind
}

// anyStopped returns a thread that goes on to its signals as soon as it is resumed: not
// one that is on its way into the sleep of vfork(2).
func (l *Leaver) anyStopped() *Thread {
	for _, t := range l.g.Threads {
		if t.Role == RoleThread && t.M.state == StateStopped && t.M.awaits != AwaitVfork {
			return t
		}
	}
	return nil
}
