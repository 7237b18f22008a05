package tracee

import (
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// A thread has to be stopped to be detached, and a stop ends the transfer that its system call
// was making. So a thread that needs no detaching is left to the kernel: when this OS thread
// ends, the kernel detaches the thread without waking it (exit_ptrace in kernel/ptrace.c).

// Leaver ends the tracing of single threads.
type Leaver struct {
	g         *Group
	Abandoned int // threads that could not be detached
	Asleep    int // how many of those sleep uninterruptibly
}

// DetachEach detaches each thread by itself. It is for targets without traps: no thread has to wait
// for the others there, and a thread that needs no detaching is left to the kernel.
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
				continue // is detached when the child is gone
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

// KernelMay reports whether a thread that is not stopped may be left to the kernel. These may not:
//   - a thread that makes a single step: the kernel leaves the processor's trap flag set, and its SIGTRAP ends the
//     process;
//   - a thread that would be killed with us (PTRACE_O_EXITKILL);
//   - a thread whose tracer does not end;
//   - a child whose creator waits until the child is detached;
//   - a thread that was interrupted: its call may have to be made again;
//   - a thread that is to make its call again and has not begun it: a signal has to give it its EINTR.
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
	return err == nil && !call.Running && call.PC != t.rewound.pc // rewound.pc is that of the stop, while it is being woken
}

// part detaches one thread and forgets it.
func (l *Leaver) part(t *Thread) {
	l.Leave(t)
	l.g.Forget(t)
}

// Copies reports whether a forked process is left that is to be cleaned of traps and detached.
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
	l.g.Calls.grant(t)
	l.g.FlushRegs(t)
	sig := t.M.signal
	if t.M.group {
		sig = 0
	}
	l.Detach(t, sig)
}

// Detach makes a stopped thread continue untraced. A thread that is being killed has left its stop,
// and is traced until it is gone. It may be killed, for instance, by a thread that was detached
// earlier and is in execve(2).
func (l *Leaver) Detach(t *Thread, sig syscall.Signal) {
	l.g.Reports.Resuming(t)
	err := ptrace.Detach(t.TID, sig)
	l.g.Trace.Did(t, DeedDetach, uint64(sig), err)
	if err != nil {
		l.Abandoned++
	}
}

// StopProcess brings a held target into a group stop. One thread receives a SIGSTOP of
// ours while the others stay stopped. The kernel stops the others as they are detached,
// before they run. Threads that sleep uninterruptibly stop when they wake. StopProcess
// returns false if the target continues: we may not signal it, or another process has
// continued it since.
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
			return true // all stop when they are thawed
		}
		switch {
		case !l.g.Has(t): // it ended first, or was another's exec
			t = l.anyStopped()
		case t.M.signal == syscall.SIGCONT:
			return false
		}
	}
	return true // if no thread could be stopped, the one that wakes first receives it
}

// receives resumes a thread so that it receives its pending signals, and returns when it has stopped or ended. It returns
// false if the freezer of the thread's cgroup keeps it from its signals (do_freezer_trap in kernel/signal.c): nothing
// else lets a thread sleep while a SIGSTOP is pending.
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

// anyStopped returns a thread that receives its pending signals as soon as it is resumed. A thread that is
// on its way into the sleep of vfork(2) does not.
func (l *Leaver) anyStopped() *Thread {
	for _, t := range l.g.Threads {
		if t.Role == RoleThread && t.M.state == StateStopped && t.M.awaits != AwaitVfork {
			return t
		}
	}
	return nil
}
