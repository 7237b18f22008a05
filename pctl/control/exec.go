package control

import (
	"context"
	"maps"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// execed handles the exec event, which a thread reports under the leader's number
// whichever it was. Every other thread of the process is gone without a word. It
// returns the thread that goes on, or nil.
func (c *Controller) execed(t *thread) *thread {
	if t.role != roleThread {
		// A process that shared the target's memory has its own now.
		c.tracees.drop(t)
		c.tracees.leaver.detach(t, 0)
		return nil
	}
	c.parting.dropThreads()
	t = c.tracees.add(c.tracees.pid, roleThread, stateRunning)
	t.m.stop(ptrace.Stop{TID: c.tracees.pid, Kind: ptrace.KindExec})
	c.tracees.trace.did(t, deedExec, 0, nil)
	c.tracees.arrived(t)
	c.image.newImage(true)
	first := c.tracees.phase == phaseStarting
	if first {
		c.tracees.enter(phaseRunning)
		c.tracees.seizer.told = c.opt.Mode
		ptrace.SetOptions(t.tid, c.tracees.seizer.options(c.tracees.seizer.told))
	}
	path, _ := procfs.Exe(c.tracees.pid)
	if first {
		err := c.image.lacks()
		c.image.lacking.Store(&err)
		c.publish(notify.Event{Kind: notify.Created, Path: path, Threads: 1, Err: err})
		c.rendezvous.reach(notify.Create, notify.PointExec)
	} else {
		c.publish(notify.Event{Kind: notify.Exec, Path: path, Err: c.image.lacks()})
		c.rendezvous.reach(notify.PointExec)
	}
	return t
}

// dropThreads takes the threads off the books that an exec has ended.
func (p *parting) dropThreads() {
	for _, other := range p.g.threads {
		if other.role == roleThread {
			p.g.drop(other)
			if other.tid != p.g.pid {
				p.c.publish(notify.Event{Kind: notify.ThreadExit, TID: other.tid})
			}
		}
	}
	for tid, r := range p.g.births.early {
		if r == roleThread {
			delete(p.g.births.early, tid)
		}
	}
}

// regain takes control anew of a target that lives although nobody of it is traced any more: a thread that
// was made untraced (newborn.go) has executed a program, which has ended all others. That program has run a
// little way already. It reports false if there is nothing to regain.
func (p *parting) regain() bool {
	st, err := procfs.ReadStat(p.g.pid)
	if p.g.phase >= phaseStopping || err != nil || st.StartTime != p.g.seizer.start || st.State == 'Z' || st.State == 'X' {
		return false
	}
	p.dropThreads()
	old := p.g.memory.mem
	if p.g.seizer.seizeAll(context.Background()) != nil || p.g.phase.over() {
		return false
	}
	if p.g.memory.mem != old {
		return true // it has executed another one meanwhile, and reported that
	}
	p.c.image.newImage(false)
	path, _ := procfs.Exe(p.g.pid)
	p.c.publish(notify.Event{Kind: notify.Exec, Path: path, Err: p.c.image.lacks()})
	p.c.rendezvous.reach(notify.PointExec)
	return true
}

// executing reports whether the target has left the address space that is known of it, by an exec or its end which
// is still to be reported: what cannot be had there need not be had. The old address space may live on, in
// another process or while the kernel looks through it for uprobes, so the auxiliary vectors are
// compared: that of a new program is empty at first, and then has other addresses.
func (i *image) executing() bool {
	if _, none := i.g.memory.mem.(noMemory); none || i.g.phase.over() {
		return false
	}
	now, err := procfs.ReadAuxv(i.g.pid)
	return err == nil && (len(now) == 0 || !maps.Equal(now, i.linker.auxv)) || i.g.memory.mem.Stale() || i.g.seizer.inExec()
}

// awaitImage waits for the report of an exec that is under way. It reports false if there is none, or if there
// is something else to do.
func (i *image) awaitImage() bool {
	old := i.g.memory.mem
	return i.executing() && i.g.waiter.until(func() bool { return i.g.memory.mem != old || i.g.requests.queued() }, func() {}) && i.g.memory.mem != old
}

// newImage starts afresh after an exec: breakpoints are forgotten, not written back,
// unless the address space that they are in is still in use. That is so where we have
// attached just behind the point at which the exec has made the new one, and before its
// report: then they are in the new one. And it is so where a child of vfork(2) goes on in
// the old one. alone says that nobody can have got the new one without our knowledge.
func (i *image) newImage(alone bool) {
	i.g.group.stopSignal.Store(0)
	i.imageNew, i.g.seizer.newbornSeized, i.g.seizer.alone = true, alone, alone
	armed := i.c.traps.table.Armed()
	if !i.g.memory.mem.Stale() {
		i.c.traps.disarm()
	}
	i.c.traps.forgetBreaks()
	if armed {
		i.c.traps.arm()
	}
	i.c.traps.killRisk.reset()
	i.c.traps.probes.forget()
	err := i.g.memory.openMemory()
	if err == nil {
		i.c.traps.killRisk.writable(!i.g.memory.pokes())
		err = i.followImage()
	}
	if err != nil {
		// It has ended, and the report is on its way; or it has executed a file that it
		// may not read itself, whose memory takes CAP_SYS_PTRACE (would_dump in
		// fs/exec.c). Then it is controlled, but nothing is known of it.
		i.g.memory.noMemory(err)
		i.c.traps.table = i.c.traps.newTable()
		i.linker = linker{none: true, slots: i.linker.slots}
		i.useSpace(handle.Unreadable(i.g.pid, i.files))
	}
}
