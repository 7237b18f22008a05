package control

import (
	"context"
	"maps"
	"syscall"

	"ptools/internal/mem"
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
		c.drop(t)
		c.detach(t, 0)
		return nil
	}
	c.dropThreads()
	t = c.add(c.pid, roleThread, stateRunning)
	t.m.stop(ptrace.KindExec, 0)
	c.trace.did(t, deedExec, 0, nil)
	c.arrived(t)
	c.newImage(true)
	first := c.created && !c.started
	if first {
		c.started = true
		ptrace.SetOptions(t.tid, c.options(c.opt.Mode))
	}
	path, _ := procfs.Exe(c.pid)
	if first {
		err := c.lacks()
		c.lacking.Store(&err)
		c.publish(notify.Event{Kind: notify.Created, Path: path, Threads: 1, Err: err})
		c.reach(notify.Create, notify.PointExec)
	} else {
		c.publish(notify.Event{Kind: notify.Exec, Path: path, Err: c.lacks()})
		c.reach(notify.PointExec)
	}
	return t
}

// dropThreads takes the threads off the books that an exec has ended.
func (c *Controller) dropThreads() {
	for _, other := range c.threads {
		if other.role == roleThread {
			c.drop(other)
			if other.tid != c.pid {
				c.publish(notify.Event{Kind: notify.ThreadExit, TID: other.tid})
			}
		}
	}
	for tid, r := range c.early {
		if r == roleThread {
			delete(c.early, tid)
		}
	}
}

// regain takes control anew of a target that lives although nobody of it is traced any more: a thread that
// was made untraced (newborn.go) has executed a program, which has ended all others. That program has run a
// little way already. It reports false if there is nothing to regain.
func (c *Controller) regain() bool {
	st, err := procfs.ReadStat(c.pid)
	if c.parting || c.leaving || err != nil || st.StartTime != c.start || st.State == 'Z' || st.State == 'X' {
		return false
	}
	c.dropThreads()
	old := c.mem
	if c.seizeAll(context.Background()) != nil || c.over {
		return false
	}
	if c.mem != old {
		return true // it has executed another one meanwhile, and reported that
	}
	c.newImage(false)
	path, _ := procfs.Exe(c.pid)
	c.publish(notify.Event{Kind: notify.Exec, Path: path, Err: c.lacks()})
	c.reach(notify.PointExec)
	return true
}

// executing reports whether the target has left the address space that is known of it, by an exec or its end which
// is still to be reported: what cannot be had there need not be had. The old address space may live on, in
// another process or while the kernel looks through it for uprobes, so the auxiliary vectors are
// compared: that of a new program is empty at first, and then has other addresses.
func (c *Controller) executing() bool {
	if _, none := c.mem.(noMemory); none || c.over {
		return false
	}
	now, err := procfs.ReadAuxv(c.pid)
	return err == nil && (len(now) == 0 || !maps.Equal(now, c.linker.auxv)) || c.mem.Stale() || c.inExec()
}

// inExec reports whether a thread is in an execve(2) that has ended the leader already.
func (c *Controller) inExec() bool {
	st, err := procfs.ReadTaskStat(c.pid, c.pid)
	if err == nil && st.State != 'Z' && st.State != 'X' && st.Flags&procfs.FlagExiting == 0 {
		return false
	}
	for tid, t := range c.threads {
		if t.role != roleThread || tid == c.pid {
			continue
		}
		task, err := procfs.OpenTask(c.pid, tid)
		if err != nil {
			continue
		}
		in, err := task.Syscall()
		task.Close()
		if err == nil && (in.Nr == callExecve || in.Nr == callExecveat) {
			return true
		}
	}
	return false
}

// Numbers of system calls of x86-64.
const (
	callExecve   = 59
	callExecveat = 322
)

// awaitImage waits for the report of an exec that is under way. It reports false if there is none, or if there
// is something else to do.
func (c *Controller) awaitImage() bool {
	old := c.mem
	return c.executing() && c.until(func() bool { return c.mem != old || c.queued() }, func() {}) && c.mem != old
}

// vanished takes a thread that cannot be waited for any more off the books: an exec has
// ended it, or has given it the leader's number. In either case whoever was the leader is
// no more, even where it was held or had been let go before. The one that comes after it
// is traced if it was, and reports the exec.
func (c *Controller) vanished(t *thread) {
	c.drop(t)
	if t.role != roleThread || !c.leaderIsOurs() {
		return
	}
	leader := c.threads[c.pid]
	switch {
	case leader == nil:
		c.add(c.pid, roleThread, stateRunning)
	case leader.m.state == stateStopped && !c.stands(leader):
		c.drop(leader)
		c.add(c.pid, roleThread, stateRunning)
	}
}

// stands reports whether a thread is in the stop that it has reported. One that has taken its number
// by execve(2) runs, or has its own report to make.
func (c *Controller) stands(t *thread) bool {
	var regs ptrace.Regs
	s, err := ptrace.PeekTID(t.tid, false)
	return err == nil && s.Kind == ptrace.KindNone && ptrace.GetRegs(t.tid, &regs) == nil
}

// openMemory binds to the address space that the target has now. The descriptor
// comes first: what is read about the address space afterwards can then be no older
// than the memory that is written to. Without a descriptor it is written by ptrace(2).
func (c *Controller) openMemory() error {
	m, err := mem.Open(c.pid)
	if err != nil {
		return err
	}
	c.closeMemory()
	c.mem, c.user = m, m.User()
	c.ground.pid = c.pid
	if !m.Writable() {
		c.mem = pokedMemory{m, c}
	}
	c.killRisk.writable(m.Writable())
	c.watch.Bind(m)
	return nil
}

func (c *Controller) closeMemory() { c.noMemory(syscall.ESRCH) }

// noMemory does without the target's memory; err is what its users get.
func (c *Controller) noMemory(err error) {
	c.watch.Bind(nil)
	c.ground.close()
	c.mem.Close()
	c.mem, c.user = noMemory{err}, noMemory{err}
}

// newImage starts afresh after an exec: breakpoints are forgotten, not written back,
// unless the address space that they are in is still in use. That is so where we have
// attached just behind the point at which the exec has made the new one, and before its
// report: then they are in the new one. And it is so where a child of vfork(2) goes on in
// the old one. alone says that nobody can have got the new one without our knowledge.
func (c *Controller) newImage(alone bool) {
	c.stopped.Store(0)
	c.imageNew, c.newbornSeized, c.alone = true, alone, alone
	armed := c.table.Armed()
	if !c.mem.Stale() {
		c.disarm()
	}
	c.forgetBreaks()
	if armed {
		c.arm()
	}
	c.killRisk.reset()
	c.probes.forget()
	err := c.openMemory()
	if err == nil {
		err = c.followImage()
	}
	if err != nil {
		// It has ended, and the report is on its way; or it has executed a file that it
		// may not read itself, whose memory takes CAP_SYS_PTRACE (would_dump in
		// fs/exec.c). Then it is controlled, but nothing is known of it.
		c.noMemory(err)
		c.table = c.newTable()
		c.linker = linker{none: true, slots: c.linker.slots}
		c.useSpace(handle.Unreadable(c.pid, c.files))
	}
}
