package control

import (
	"syscall"

	"ptools/internal/mem"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// add puts a thread on the books.
func (c *Controller) add(tid int, r role, s state) *thread {
	t := &thread{tid: tid, role: r, m: machine{state: s}}
	c.threads[tid] = t
	c.trace.did(t, deedAdd, uint64(r), nil)
	if r == roleThread {
		c.enlist(tid)
	}
	if c.holds > 0 && r != roleCopy {
		c.hold(t)
	}
	return t
}

// adopt makes a record for a thread that reports a stop before its creator's event
// has announced it: the kernel wakes both and either may come first. What it is can
// be told without the announcement. It returns nil for one that is gone already.
func (c *Controller) adopt(s ptrace.Stop) *thread {
	if s.TID == c.pid {
		// The leader was dead when we came, and another thread has taken its number
		// by execve(2), or the last of the others has ended.
		if s.Kind.Ended() {
			c.trace.heard(nil, s)
			c.threadEnded(&thread{tid: c.pid}, s)
			return nil
		}
		return c.add(c.pid, roleThread, stateRunning)
	}
	if s.Kind.Ended() {
		c.trace.heard(nil, s)
		c.early[s.TID] = roleCopy
		return nil
	}
	var regs ptrace.Regs
	_ = ptrace.GetRegs(s.TID, &regs) // ESRCH: being killed, so it runs no code
	r := c.classify(s.TID, s.TID, &regs)
	c.early[s.TID] = r
	t := c.add(s.TID, r, stateBorn)
	t.fresh = true
	return t
}

// classify finds out what a new thread is: one of the target's, or of another
// process, which shares the target's memory or has a copy of it. regs are those of the
// stopped thread tid, the creator or the new thread itself: they show the system call.
// kcmp(2) would tell as well, but filters of system calls deny it, and it takes the
// memory of a dead leader for another one.
func (c *Controller) classify(child, tid int, regs *ptrace.Regs) role {
	if c.isThread(child) {
		return roleThread
	}
	flags, err := regs.CloneFlags(ptrace.Memory{TID: tid})
	shares := flags&ptrace.CloneVM != 0
	if err != nil { // the arguments of clone3(2) are not there any more, or it is being killed
		shares, err = c.compare(child)
	}
	if err == nil && !shares {
		return roleCopy
	}
	return roleSharer
}

// isThread reports whether a living thread belongs to the target. EPERM, of a target that we may trace
// and not signal, is the answer for one that does.
func (c *Controller) isThread(tid int) bool {
	switch ptrace.Kill(c.pid, tid, 0) {
	case nil:
		return true
	case syscall.ESRCH:
		return false
	}
	_, err := procfs.ReadTaskStat(c.pid, tid)
	return err == nil
}

// birth handles the event of a thread that has made another thread or process.
func (c *Controller) birth(t *thread, kind ptrace.Kind) {
	msg, err := ptrace.EventMsg(t.tid)
	if err != nil {
		return // being killed
	}
	child := int(msg)
	r, early := c.early[child]
	if early {
		delete(c.early, child)
	} else {
		if c.loadRegs(t) != nil {
			return // being killed: the child tells what it is
		}
		r = c.classify(child, t.tid, &t.regs)
		if _, err := ptrace.PeekTID(child, false); err == syscall.ECHILD {
			c.takeUnattached(child, r)
		} else {
			born := c.add(child, r, stateBorn)
			born.fresh = true
			if r == roleCopy {
				t.child, born.creator = born, t
			}
		}
	}
	if kind == ptrace.KindVfork {
		t.vfork = true
	}
	if t.role == roleThread {
		c.announce(t, child, r, kind)
	}
	if early {
		c.announced(child)
	}
}

// takeUnattached is for a new thread or process that is not traced although its creator reports it. The kernel
// decides that there will be an event when the creator enters the call, whether the new one is attached in the middle of it, and
// whom the event is for at its end. Another tracer may have let go between the first two, and we have
// seized the creator before the third (kernel_clone, ptrace_init_task). A copy has no traps then: there
// are none before the creator has stopped.
func (c *Controller) takeUnattached(child int, r role) {
	switch r {
	case roleThread:
		r := newReaper()
		defer r.close()
		c.seizePass([]int{child}, r) // refused: of another owner since, as in seizeNewborn
	case roleSharer:
		if c.seizeOne(child) == nil { // otherwise seizeSharers refuses
			c.add(child, roleSharer, stateRunning)
		}
	}
}

func (c *Controller) announce(t *thread, child int, r role, kind ptrace.Kind) {
	if r != roleThread {
		e := notify.Event{Kind: notify.Fork, TID: t.tid, Child: child}
		if kind == ptrace.KindVfork {
			e.Kind = notify.Vfork
		}
		c.publish(e)
		return
	}
	if c.opt.OnThreadStart != nil && c.loadRegs(t) == nil {
		c.opt.OnThreadStart(t.tid, child, &t.regs)
	}
	c.publish(notify.Event{Kind: notify.ThreadStart, TID: child, Child: child})
}

// letGo lifts our breakpoints out of the memory of a process that was forked off the
// target, and detaches it before it has run an instruction.
func (c *Controller) letGo(t *thread) {
	creator := t.creator
	t.creator = nil
	c.drop(t)
	c.clean(t)
	c.moveOut(t)
	c.flushRegs(t)
	c.detach(t, t.m.signal)
	c.childGone(creator)
}

// childGone lets the creator of a process go on, which stands in the event of its birth until the
// child is let go: it may trace its children itself, and there is but one tracer at a time.
func (c *Controller) childGone(creator *thread) {
	if creator != nil {
		creator.child = nil
		c.settle(creator)
	}
}

// clean takes our breakpoints out of the memory of a forked process. Where there is no
// descriptor to write to that memory the traps leave it word by word.
func (c *Controller) clean(t *thread) {
	c.hideLeaving()
	g := &ground{pid: t.tid}
	defer g.close()
	if m, err := mem.Open(t.tid); err == nil {
		defer m.Close()
		if m.Writable() {
			c.table.Clean(m, g)
			return
		}
	}
	c.table.Clean(ptrace.Memory{TID: t.tid}, g)
}
