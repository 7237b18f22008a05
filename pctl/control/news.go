package control

import (
	"fmt"
	"syscall"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// publish stamps an event and hands it to the bus, which never blocks.
func (c *Controller) publish(e notify.Event) {
	if e.Kind != 0 && c.tracees.trace != nil {
		c.tracees.trace.told(c.tracees.pid, e.Kind.String())
	}
	if c.bus.Wants(e.Kind) {
		e.Time, e.PID = time.Now(), c.tracees.pid
		c.bus.Publish(e)
	}
}

// born tells of a new thread or process.
func (c *Controller) born(t *thread, child int, r role, kind ptrace.Kind) {
	if r != roleThread {
		e := notify.Event{Kind: notify.Fork, TID: t.tid, Child: child}
		if kind == ptrace.KindVfork {
			e.Kind = notify.Vfork
		}
		c.publish(e)
		return
	}
	if c.opt.OnThreadStart != nil && c.tracees.loadRegs(t) == nil {
		c.opt.OnThreadStart(t.tid, child, &t.regs)
	}
	c.publish(notify.Event{Kind: notify.ThreadStart, TID: child, Child: child})
}

// groupStop tells of a group stop and, with SIGCONT, of its end.
func (c *Controller) groupStop(t *thread, sig syscall.Signal) {
	kind := notify.GroupStop
	if sig == syscall.SIGCONT {
		kind = notify.GroupContinue
	}
	c.publish(notify.Event{Kind: kind, TID: t.tid, Signal: int(sig)})
}

// resumesAll begins a rendezvous that was asked for while threads were being stopped.
func (c *Controller) resumesAll() { c.rendezvous.nextPoint() }

// ended takes a thread that is gone off the books.
func (c *Controller) ended(t *thread, s ptrace.Stop) {
	c.tracees.drop(t)
	if t.role != roleThread {
		return
	}
	c.parting.lastEnd = s
	if t.tid != c.tracees.pid {
		c.publish(notify.Event{Kind: notify.ThreadExit, TID: t.tid, Code: s.Code, Signal: int(s.Signal)})
		return
	}
	for _, other := range c.tracees.threads {
		if other.role == roleThread {
			c.tracees.drop(other)
		}
	}
	c.publish(undead(s))
	c.parting.finish(ErrEnded)
}

// lost is called when there is nothing left to wait for although the target was not
// seen to end: its leader was dead when we came and the last thread has ended, or
// somebody else has collected its status.
func (c *Controller) lost(err error) {
	if c.tracees.phase.gone() {
		c.tracees.enter(phaseEnded)
		return
	}
	if c.parting.regain() {
		return
	}
	if e, ok := c.parting.endUnseen(); ok {
		c.publish(e)
	} else {
		c.publish(notify.Event{Kind: notify.Lost, Err: fmt.Errorf("nothing left to wait for: %w", err)})
	}
	c.parting.finish(ErrEnded)
}

// endUnseen finds out how a process ended whose leader we could not seize because it
// was dead already. The kernel gives every thread that exit_group(2) or a signal
// ends the status of the process; otherwise it is that of the leader.
func (p *parting) endUnseen() (notify.Event, bool) {
	st, err := procfs.ReadStat(p.g.pid)
	if err == nil && st.State != 'Z' && st.State != 'X' {
		return notify.Event{}, false
	}
	last := p.lastEnd
	if err == nil {
		last = ptrace.Decode(p.g.pid, uint32(st.ExitCode))
	} else if last.Kind == ptrace.KindNone {
		return notify.Event{}, false
	}
	return undead(last), true
}

func undead(s ptrace.Stop) notify.Event {
	return notify.Event{
		Kind: notify.Undead, TID: s.TID, Exited: s.Kind == ptrace.KindExited, Code: s.Code,
		Signal: int(s.Signal), Core: s.Core,
	}
}
