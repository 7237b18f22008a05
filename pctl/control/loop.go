package control

import (
	"fmt"
	"syscall"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// loop is the life of the control goroutine: requests, then whatever the kernel has
// to tell, one report at a time.
func (c *Controller) loop() {
	for c.serve(); !c.over; c.serve() {
		s, err := c.poll()
		if err == nil && s.Kind == ptrace.KindNone {
			// Whoever queues a request from here on rings.
			c.waiting.Store(true)
			if !c.queued() {
				c.beAlert()
				s, err = c.wait(true)
				c.calmFor(s, err)
			}
			c.waiting.Store(false)
		}
		c.report(s, err)
	}
}

// poll returns a report that is there already or, where that has paid lately, comes
// within the next moment.
func (c *Controller) poll() (ptrace.Stop, error) {
	if len(c.stolen) > 0 {
		return c.pollNow()
	}
	if c.own || !c.spin.worthwhile() {
		return ptrace.Stop{}, nil
	}
	c.alert.thread.Off()
	for start := time.Now(); ; {
		s, err := c.wait(false)
		if err != nil || s.Kind != ptrace.KindNone {
			c.spin.hit()
			return s, err
		}
		if c.queued() {
			return s, nil
		}
		if time.Since(start) > spinFor {
			c.spin.miss()
			return s, nil
		}
	}
}

// report handles what wait returned.
func (c *Controller) report(s ptrace.Stop, err error) {
	switch {
	case err == syscall.EINTR:
		c.latency.check()
	case err != nil:
		c.lost(err)
	case s.Kind != ptrace.KindNone:
		c.dispatch(s)
		c.read()
	}
}

// until handles reports until cond holds. tick, unless nil, is called every
// millisecond or so meanwhile. Requests stay queued. It returns false if the target
// ended first.
func (c *Controller) until(cond func() bool, tick func()) bool {
	c.read()
	ringing := false
	for !c.over && !cond() {
		if s, err := c.poll(); err != nil || s.Kind != ptrace.KindNone {
			c.report(s, err)
			continue
		}
		if tick != nil && !ringing {
			ringing = true
			defer c.alarm.start()()
		}
		s, err := c.wait(true)
		c.report(s, err)
		if tick != nil && err == syscall.EINTR {
			tick()
		}
	}
	return !c.over
}

// dispatch gives one report to the method that knows its kind, then lets the thread
// go on unless somebody holds it.
func (c *Controller) dispatch(s ptrace.Stop) {
	t := c.threads[s.TID]
	if t == nil {
		if t = c.adopt(s); t == nil {
			return
		}
	}
	if s.Kind.Ended() {
		c.trace.heard(t, s)
		c.threadEnded(t, s)
		return
	}
	if t.step != nil || t.stepTrap {
		c.read() // ours, and it ends the target if it is left
	}
	t.m.stop(s.Kind, s.Signal)
	c.trace.heard(t, s)
	t.regOK, t.dirty, t.parked, t.stuck, t.uprobe.behind = false, false, false, 0, false
	t.vfork = false // who waits there reports nothing before the end of that
	t.back = s.Back && c.wasSetBack(t)
	if t.role == roleCopy {
		c.letGo(t)
		return
	}
	if t.step != nil {
		c.stepped(t, s)
	}
	t.busy = true
	switch s.Kind {
	case ptrace.KindSignal:
		c.signalled(t)
	case ptrace.KindGroupStop:
		c.groupStopped(t, s.Signal)
	case ptrace.KindEventStop:
		c.eventStopped(t)
	case ptrace.KindClone, ptrace.KindFork, ptrace.KindVfork:
		c.birth(t, s.Kind)
	case ptrace.KindExec:
		if t = c.execed(t); t == nil {
			return
		}
	}
	t.busy = false
	c.settle(t)
}

// settle is called when everything about a stop has been done but to leave it.
func (c *Controller) settle(t *thread) {
	if t.busy || t.m.state != stateStopped || c.threads[t.tid] != t {
		return
	}
	if t.look != nil {
		c.visit(t)
	}
	if t.lone != nil && c.holds > 0 && t.m.holds == 0 {
		t.m.rehold() // it has made a step while everybody stands
		c.trace.did(t, deedRehold, 0, nil)
	}
	if t.uprobe.due && t.m.holds == 0 {
		c.reportUprobeHit(t)
		if t.m.state != stateStopped || c.threads[t.tid] != t {
			return
		}
	}
	if t.m.holds > 0 {
		c.arrived(t)
		if t.lone == nil || c.parting {
			return
		}
	}
	switch {
	case t.child != nil, c.unannounced(t):
	case c.parting:
		c.part(t)
	case t.lone != nil:
		c.settleLone(t)
	default:
		c.resume(t)
	}
}

// resume lets a stopped thread run, off the breakpoint it stands on first.
func (c *Controller) resume(t *thread) {
	if t.over != nil && !c.stepOff(t) {
		return // a single step is under way
	}
	lent := c.grant(t)
	c.flushRegs(t)
	var err error
	switch t.m.settle() {
	case actCont:
		c.resumed = c.resumed && !beginsStop(t.m.signal)
		c.resuming(t)
		err = ptrace.Cont(t.tid, t.m.signal)
		c.trace.did(t, deedCont, uint64(t.m.signal), err)
		c.repay(t, lent)
	case actListen:
		c.spare(t)
		c.resuming(t)
		err = ptrace.Listen(t.tid)
		c.trace.did(t, deedListen, 0, err)
		if err == nil {
			c.listens(t)
		}
	}
	// ESRCH: the thread is being killed; its end will be reported.
	_ = err
	t.regOK = false
}

// threadEnded takes a thread that is gone off the books.
func (c *Controller) threadEnded(t *thread, s ptrace.Stop) {
	c.drop(t)
	if t.role != roleThread {
		return
	}
	c.lastEnd = s
	if t.tid != c.pid {
		c.publish(notify.Event{Kind: notify.ThreadExit, TID: t.tid, Code: s.Code, Signal: int(s.Signal)})
		return
	}
	for _, other := range c.threads {
		if other.role == roleThread {
			c.drop(other)
		}
	}
	c.publish(undead(s))
	c.finish(ErrEnded)
}

// drop removes a thread and whatever waits for it.
func (c *Controller) drop(t *thread) {
	delete(c.threads, t.tid)
	c.trace.did(t, deedDrop, 0, nil)
	if i := c.back(t.tid); i >= 0 {
		c.handOut(i) // to nobody
	}
	if c.probes.signals != nil {
		c.probes.signals.Forget(t.tid)
	}
	c.arrived(t)
	if t.look != nil {
		t.look.missed(t)
	}
	if t.lone != nil {
		t.lone.tell(nil, ErrNoThread)
	}
	if t.step != nil {
		c.abandonStep(t)
	}
	if t.role == roleThread {
		c.strike(t.tid)
	}
	if t.child != nil {
		t.child.creator = nil
	}
	c.childGone(t.creator)
}

// lost is called when there is nothing left to wait for although the target was not
// seen to end: its leader was dead when we came and the last thread has ended, or
// somebody else has collected its status.
func (c *Controller) lost(err error) {
	if c.ending {
		c.over = true
		return
	}
	if c.regain() {
		return
	}
	if e, ok := c.endUnseen(); ok {
		c.publish(e)
	} else {
		c.publish(notify.Event{Kind: notify.Lost, Err: fmt.Errorf("nothing left to wait for: %w", err)})
	}
	c.finish(ErrEnded)
}

// endUnseen finds out how a process ended whose leader we could not seize because it
// was dead already. The kernel gives every thread that exit_group(2) or a signal
// ends the status of the process; otherwise it is that of the leader.
func (c *Controller) endUnseen() (notify.Event, bool) {
	st, err := procfs.ReadStat(c.pid)
	if err == nil && st.State != 'Z' && st.State != 'X' {
		return notify.Event{}, false
	}
	last := c.lastEnd
	if err == nil {
		last = ptrace.Decode(c.pid, uint32(st.ExitCode))
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

// finish ends control: the target is gone. Processes that shared its memory, or were
// just forked, are let go.
func (c *Controller) finish(err error) {
	c.held.Store(0)
	c.ending = true
	if len(c.threads) > 0 {
		c.letAllGo()
	}
	c.over = true
	c.closeQueue(err)
}
