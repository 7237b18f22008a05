package control

import (
	"syscall"

	"ptools/internal/procfs"
)

// To be detached a thread has to be stopped, and a stop ends what its system call was
// transferring. So a thread that needs no detaching is left to the kernel, which lets go
// of it without waking it when this OS thread ends (exit_ptrace in kernel/ptrace.c).

// letAllGo ends the tracing of everything that is traced.
func (c *Controller) letAllGo() {
	if c.untouched() {
		c.detachEach()
	} else {
		c.detachAll()
	}
}

// untouched reports whether no thread can be at a trap of ours, in a scratch area, or about to
// receive a signal of ours, and nobody has to stand still.
func (c *Controller) untouched() bool {
	return c.holds == 0 && c.table.Len() == 0 && !c.reserved && c.probes.signals == nil
}

// detachEach lets each thread go by itself: where there are no traps, nobody has to wait
// for the others, and a thread that needs no detaching is left to the kernel.
func (c *Controller) detachEach() {
	c.parting = true
	c.drain()
	for len(c.threads) > 0 && !c.over {
		pending := make([]*thread, 0, len(c.threads))
		sampled := make(map[*thread]bool) // interrupted before, for a look
		for _, t := range c.threads {
			switch {
			case t.child != nil:
				continue // parts when the child is gone
			case t.m.state == stateStopped:
				c.part(t)
				continue
			case t.vfork, c.kernelMay(t):
				c.abandon(t)
				delete(c.threads, t.tid)
				continue
			}
			sampled[t] = t.m.asked
			c.interrupt(t, t.m.ask())
			pending = append(pending, t)
		}
		c.collect(pending, func(t *thread) bool { return c.threads[t.tid] == t }, func() {
			for _, t := range c.threads {
				if c.unresponsive(t, stuckForLeaving) || sampled[t] && c.starved(t) {
					c.abandon(t)
					delete(c.threads, t.tid)
					c.childGone(t.creator)
				}
			}
		})
	}
}

// kernelMay reports whether a thread that is not stopped may be left to the kernel. Not one
// that would be killed with us (PTRACE_O_EXITKILL); nor a child whose creator waits for its end
// of tracing; nor one that was interrupted, whose call may have to be made again; nor one that is to make its call again and has not begun: a
// signal has to give it its EINTR.
func (c *Controller) kernelMay(t *thread) bool {
	switch {
	case c.opt.Mode == ModeKill || c.created && !c.started:
		return false
	case t.m.asked, t.creator != nil:
		return false
	case t.rewound.pc == 0:
		return true
	}
	call, err := procfs.ReadSyscall(c.pidOf(t), t.tid)
	return err == nil && !call.Running
}

// starvedForLeaving is how often in a row, at intervals of a millisecond, a thread is found waiting for a
// processor before it is left to the kernel.
const starvedForLeaving = 200

// starved reports whether a thread that was interrupted for a look has been given no processor for so long that it
// is left to the kernel. A look interrupts threads that run, and it has not run since: all that it may lose is the rest of
// a call in which the kernel had preempted it. One that would be killed with us is waited for.
func (c *Controller) starved(t *thread) bool {
	if !t.m.asked || t.m.state != stateRunning || c.opt.Mode == ModeKill {
		return false
	}
	pid := c.pidOf(t)
	st, err := procfs.ReadTaskStat(pid, t.tid)
	if err != nil || st.State != 'R' {
		t.starved = 0
		return false
	}
	sched, err := procfs.ReadTaskSchedStat(pid, t.tid)
	if err != nil || sched != t.sched {
		t.starved, t.sched = 0, sched
		return false
	}
	t.starved++
	return t.starved >= starvedForLeaving
}

// stopAwake stops all threads but those that sleep in a system call, takes the traps out of
// the text and leaves those that still sleep to the kernel. One that sleeps then has met no
// trap that was not dealt with, and meets none any more.
func (c *Controller) stopAwake() {
	c.holds++
	c.newbornSeized = true // no trap is planted any more
	if c.probes.signals != nil {
		c.probes.signals.Switch(false)
	}
	for _, t := range c.threads {
		if t.role != roleCopy && t.m.holds == 0 && !c.restful(t) {
			c.hold(t)
		}
	}
	c.await(stuckFor)
	if !c.until(func() bool { return !c.copies() }, nil) {
		return
	}
	if c.table.Armed() {
		c.hideLeaving()
		c.trace.about(c.pid, deedDisarm, 0, nil)
		c.table.Disarm()
		c.tellEnded()
	}
	for _, t := range c.threads {
		if t.m.holds == 0 && c.restful(t) {
			c.abandon(t)
			delete(c.threads, t.tid)
		}
	}
}

// restful reports whether a thread sleeps in a system call of its own making, and none of our
// signals waits for it: it can be left to the kernel when the traps are out of the text.
func (c *Controller) restful(t *thread) bool {
	if t.m.state != stateRunning || t.step != nil || t.stepTrap || t.inSlot || t.uprobe.unmasked || !c.kernelMay(t) {
		return false
	}
	pid := c.pidOf(t)
	call, err := procfs.ReadSyscall(pid, t.tid)
	if err != nil || call.Running || call.Nr < 0 {
		return false
	}
	ours := uint64(1) << (syscall.SIGTRAP - 1)
	if c.probes.signals != nil {
		ours |= 1 << (c.probes.signal - 1)
	}
	st, err := procfs.ReadTaskStatus(pid, t.tid)
	return err == nil && st.State == 'S' && st.SigPnd&ours == 0
}
