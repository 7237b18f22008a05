package control

import (
	"slices"
	"syscall"

	"ptools/internal/ptrace"
)

// A signal that a thread was stopped for is lost if we die between wait4(2), which takes the
// report, and PTRACE_CONT: the kernel resumes the thread with what is left of the report. So
// of a target that is to outlive us such a report is looked at and left where it is, and the
// thread is resumed without its ever being read. One that has to stand still is read when
// that is known.
//
// The SIGTRAP of a trap of ours is the other way round. Left unread it ends the target if we die,
// read it vanishes, and the thread goes on behind the trap, in the middle of an instruction.
// It is read as soon as the thread has been set back in front of it: mostly by PeekWaitBack,
// before anything else is done, and else in trapped.

// wait returns a report, or waits for one.
func (c *Controller) wait(block bool) (ptrace.Stop, error) {
	lives := c.opt.Mode != ModeKill
	if !lives && !c.own {
		return ptrace.Wait(block)
	}
	s, err := c.peek(block)
	switch {
	case err != nil || s.Kind == ptrace.KindNone || s.Back:
		return s, err
	case c.own && s.TID == c.pid && s.Kind.Ended():
		return s, nil // an exit status that is this program's own
	case lives && s.Kind == ptrace.KindSignal:
		c.unread = s.TID
		return s, nil
	}
	return ptrace.WaitTID(s.TID, false)
}

// mostBacks bounds the threads that are set back at a time.
const mostBacks = 16

// peek looks at a report. Threads at traps are set back at once, all that have stopped, and their
// reports read; they are handed out one by one.
func (c *Controller) peek(block bool) (ptrace.Stop, error) {
	if c.opt.Mode == ModeKill {
		return ptrace.PeekWait(block)
	}
	if len(c.backs) == 0 {
		c.refreshSetBacks()
		room := c.backsRoom[:max(1, min(len(c.threads), mostBacks))]
		s, n, err := ptrace.PeekWaitBack(c.setBacks, room, block)
		if n == 0 {
			return s, err
		}
		c.backs = room[:n]
	}
	return c.handOut(0), nil
}

// refreshSetBacks has c.setBacks be what the table has.
func (c *Controller) refreshSetBacks() {
	if v := c.table.Version(); v != c.setBacksOf {
		c.setBacks, c.setBacksOf = c.table.AppendSetBacks(c.setBacks[:0]), v
	}
}

// handOut takes a thread that was set back off the list, and makes its report.
func (c *Controller) handOut(i int) ptrace.Stop {
	b := c.backs[i]
	c.lastBack = b
	c.backs = slices.Delete(c.backs, i, i+1)
	return ptrace.Stop{TID: b.TID, Kind: ptrace.KindSignal, Signal: syscall.SIGTRAP, Back: true}
}

// back returns the index of a thread in the list of those that were set back, or -1.
func (c *Controller) back(tid int) int {
	return slices.IndexFunc(c.backs, func(b ptrace.Back) bool { return b.TID == tid })
}

// waitTID is wait for one thread, which is being stopped. Unless there are breakpoints it
// has nothing to report that would not be read at once.
func (c *Controller) waitTID(tid int, block bool) (ptrace.Stop, error) {
	if i := c.back(tid); i >= 0 {
		return c.handOut(i), nil
	}
	if c.opt.Mode == ModeKill || c.table.Len() == 0 {
		return ptrace.WaitTID(tid, block)
	}
	s, err := ptrace.PeekTID(tid, block)
	switch {
	case err != nil || s.Kind == ptrace.KindNone:
		return s, err
	case s.Kind == ptrace.KindSignal:
		c.unread = s.TID
		return s, nil
	}
	return ptrace.WaitTID(tid, false)
}

// wasSetBack takes the registers of a thread that peek has set back, and reports whether it is left
// there. One that was making a step is looked at as it was.
func (c *Controller) wasSetBack(t *thread) bool {
	t.regs, t.was, t.regOK = c.lastBack.Regs, c.lastBack.Regs, true
	if t.step == nil && !t.stepTrap {
		return true
	}
	t.regs.SetPC(c.lastBack.After)
	t.dirty = true
	return false
}

// read takes the report that was left unread, which no wait for any thread must meet
// again. Of a thread that has been killed since there is another one in its place.
func (c *Controller) read() {
	if c.unread == 0 {
		return
	}
	tid := c.unread
	c.unread = 0
	if s, err := ptrace.WaitTID(tid, false); err == nil && s.Kind != ptrace.KindSignal && s.Kind != ptrace.KindNone {
		c.stolen = append(c.stolen, s)
	}
}

// resuming is called before a thread leaves its stop: the report goes with it.
func (c *Controller) resuming(t *thread) {
	if c.unread == t.tid {
		c.unread = 0
	}
}
