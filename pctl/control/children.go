package control

import (
	"ptools/internal/mem"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// add puts a thread on the books.
func (c *Controller) add(tid int, r role, s state) *thread {
	t := &thread{tid: tid, role: r, m: machine{state: s}}
	c.threads[tid] = t
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
			c.threadEnded(&thread{tid: c.pid}, s)
			return nil
		}
		return c.add(c.pid, roleThread, stateRunning)
	}
	if s.Kind.Ended() {
		c.early[s.TID] = roleCopy
		return nil
	}
	r := c.classify(s.TID)
	c.early[s.TID] = r
	t := c.add(s.TID, r, stateBorn)
	t.fresh = true
	return t
}

// classify finds out what a new thread is: one of the target's, or of another
// process, which shares the target's memory or has a copy of it.
func (c *Controller) classify(tid int) role {
	if ptrace.Kill(c.pid, tid, 0) == nil {
		return roleThread
	}
	if shares, err := procfs.SharesMemory(c.pid, tid); err != nil || shares {
		// Without kcmp(2) sharing is assumed: then it is kept until it execs or ends,
		// which a copy survives as well.
		return roleSharer
	}
	return roleCopy
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
		r = c.classify(child)
		born := c.add(child, r, stateBorn)
		born.fresh = true
		if r == roleCopy {
			t.child, born.creator = born, t
		}
	}
	if kind == ptrace.KindVfork {
		t.vfork = true
	}
	if t.role == roleThread {
		c.announce(t, child, r, kind)
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

// clean takes our breakpoints out of the memory of a forked process. Where no descriptor
// can be had for that memory the traps leave it word by word.
func (c *Controller) clean(t *thread) {
	c.hideLeaving()
	m, err := mem.Open(t.tid)
	if err != nil {
		c.table.Clean(ptrace.Memory{TID: t.tid})
		return
	}
	c.table.Clean(m)
	m.Close()
}
