package control

import (
	"context"
	"maps"
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/program"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// Execed handles the exec event, which is reported under the leader's number whichever thread has made it.
// Every other thread of the process is gone without a wait status. Execed returns the thread that continues, or
// nil.
func (l *lifecycle) Execed(t *tracee.Thread) *tracee.Thread {
	c := l.c
	if t.Role != tracee.RoleThread {
		// A process that shared the target's memory has memory of its own now.
		c.tracees.Drop(t)
		if !c.following.takeOver(t, ptrace.KindExec) {
			c.tracees.Leaver.Detach(t, 0)
		}
		return nil
	}
	c.parting.dropOthers(t)
	shared := c.parting.stopSharers()
	if c.tracees.Phase().Over() { // the only thread has ended
		return nil
	}
	c.parting.dropThreads()
	t = c.tracees.Renew()
	c.image.newImage(true)
	if shared {
		c.tracees.Stopper.ResumeAll()
		if c.tracees.Phase().Over() { // the only thread has ended
			return nil
		}
	}
	first := c.tracees.Phase() == tracee.PhaseStarting
	if first {
		c.tracees.Enter(tracee.PhaseRunning)
		c.tracees.Seizer.Told = c.opt.Mode
		ptrace.SetOptions(t.TID, c.tracees.Seizer.Options(c.tracees.Seizer.Told))
	}
	if first {
		path, _ := procfs.Exe(c.tracees.PID)
		err := c.image.lacks()
		c.image.lacking.Store(&err)
		c.publish(notify.Event{Kind: notify.Created, Path: path, Threads: 1, Err: err})
		c.rendezvous.reach(notify.Create, notify.PointExec)
	} else if c.following.stays() {
		c.following.tellExec()
	} else {
		return nil
	}
	return t
}

// dropThreads drops the records of the threads that an exec has ended.
func (p *parting) dropThreads() {
	p.dropOthers(nil)
	for tid, e := range p.g.Early {
		if e.Of == p.g && e.Role == tracee.RoleThread {
			delete(p.g.Early, tid)
		}
	}
}

// dropOthers drops the records of all threads but one.
func (p *parting) dropOthers(but *tracee.Thread) {
	for _, other := range p.g.Threads {
		if other.Role == tracee.RoleThread && other != but {
			p.g.Drop(other)
			if other.TID != p.g.PID {
				p.c.publish(notify.Event{Kind: notify.ThreadExit, TID: other.TID})
			}
		}
	}
}

// stopSharers stops the threads of other processes that continue in the memory which the target has left by an exec.
// They have to come off traps and scratch slots before those leave that memory and are forgotten
// (TestSharerAcrossExec). ResumeAll resumes them. It returns false if there is no such thread, or if no int3 was
// ever in that memory.
func (p *parting) stopSharers() bool {
	if p.g.Text.Version() == 0 {
		return false
	}
	for _, t := range p.g.Threads {
		if t.Role == tracee.RoleSharer {
			p.g.Stopper.StopBut(func(t *tracee.Thread) bool { return t.Role == tracee.RoleThread })
			return true
		}
	}
	return false
}

// regain takes control again of a target that lives although none of its threads is traced any more. A thread
// that was made untraced (newborn.go) has executed a program, which has ended all others. That program has run
// a little way already. regain returns false if there is nothing to regain.
func (p *parting) regain() bool {
	st, err := procfs.ReadStat(p.g.PID)
	if p.g.Phase() >= tracee.PhaseStopping || err != nil || st.StartTime != p.g.Seizer.Start || st.State == 'Z' || st.State == 'X' {
		return false
	}
	p.dropThreads()
	old := p.g.Memory.Mem
	if p.g.Seizer.SeizeAll(context.Background()) != nil || p.g.Phase().Over() {
		return false
	}
	if p.g.Memory.Mem != old {
		return true // it has executed another program meanwhile, and Execed has handled that
	}
	p.c.image.newImage(false)
	p.c.following.tellExec()
	return true
}

// executing reports whether the target has left the address space that is known of it, by an exec or an end
// that is still to be reported. Then no breakpoint is missing that could not be set there. The old address
// space may live on, in another process or while the kernel looks through it for uprobes. So the auxiliary
// vectors are compared: that of a new program is empty at first, and then has other addresses.
func (i *image) executing() bool {
	if i.g.Memory.Absent() || i.g.Phase().Over() {
		return false
	}
	now, err := procfs.ReadAuxv(i.g.PID)
	return err == nil && (len(now) == 0 || !maps.Equal(now, i.program.Auxv())) || i.g.Memory.Mem.Stale() || i.g.Seizer.InExec()
}

// awaitImage waits for the report of an exec that is under way. It returns false if there is none, or if a
// request is queued.
func (i *image) awaitImage() bool {
	old := i.g.Memory.Mem
	return i.executing() && i.g.Waiter.Until(func() bool { return i.g.Memory.Mem != old || i.g.Line.Queued() }, func() {}) && i.g.Memory.Mem != old
}

// newImage starts afresh after an exec. Breakpoints are forgotten and not written back, unless the address
// space that they are in is still in use. There are two such cases. We may have attached just behind the point
// at which the exec has made the new address space, and before its report: then the breakpoints are in the new
// one. Or a child of vfork(2) continues in the old one. alone says that no thread can have got the new address
// space without our knowledge.
func (i *image) newImage(alone bool) {
	i.g.Group.StopSignal.Store(0)
	i.imageNew, i.g.Seizer.NewbornSeized, i.g.Seizer.Alone = true, alone, alone
	if i.c.opt.unread {
		i.g.Memory.Lose(syscall.ESRCH)
		return
	}
	i.c.tellUncounted()
	armed := i.c.traps.table.Armed()
	if !i.g.Memory.Mem.Stale() {
		i.c.traps.disarm()
	}
	known := i.g.Text.Version() != 0
	if former := i.c.traps.forgetBreaks(); known {
		i.c.traps.retire(i.program.Auxv(), former)
	}
	if armed {
		i.c.traps.arm()
	}
	i.c.traps.killRisk.reset()
	i.c.traps.probes.forget()
	err := i.g.Memory.Open()
	if err == nil {
		i.c.traps.killRisk.writable(!i.g.Memory.Pokes())
		err = i.followImage()
	}
	if err != nil {
		// Either the target has ended, and its wait status is on its way. Or it has executed a file that it may
		// not read itself: access to its memory takes CAP_SYS_PTRACE (would_dump in fs/exec.c). Then the target
		// is controlled, but nothing is known of it.
		i.g.Memory.Lose(err)
		i.c.traps.table = i.c.traps.newTable()
		i.brk, i.fresh, i.noMain = nil, false, false
		i.useSpace(handle.Unreadable(i.g.PID, i.files))
		i.program = program.Unreadable(i.g.PID, i.c.Space(), i.program)
	}
}
