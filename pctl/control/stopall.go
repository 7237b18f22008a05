package control

import (
	"context"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// hold makes one thread stop and stay.
func (c *Controller) hold(t *thread) {
	a := t.m.hold()
	c.trace.did(t, deedHold, 0, nil)
	c.interrupt(t, a)
	if t.m.state != stateStopped && !t.awaited {
		t.awaited = true
		c.awaited++
	}
	if t.vfork && t.m.state != stateStopped {
		c.park(t)
	}
}

func (c *Controller) interrupt(t *thread, a action) {
	if a == actInterrupt {
		err := ptrace.Interrupt(t.tid) // ESRCH: it is going, its end will be reported
		c.trace.did(t, deedInterrupt, 0, err)
	}
}

// arrived notes that a thread which was waited for has stopped, or never will.
func (c *Controller) arrived(t *thread) {
	if t.awaited {
		t.awaited = false
		c.awaited--
	}
}

// park gives up waiting for a thread that cannot stop now. It runs no code of its
// own, and the interrupt that was sent stops it before it does.
func (c *Controller) park(t *thread) {
	t.parked = true
	c.trace.did(t, deedPark, 0, nil)
	c.arrived(t)
}

// stopAll stops every thread that can be stopped, and takes the breakpoints out of
// the text when all stand. Calls nest; resumeAll undoes one.
func (c *Controller) stopAll() {
	c.holds++
	if c.holds == 1 && len(c.threads) >= manyThreads {
		c.stopSleepers()
	}
	c.stopRest()
}

// stopAtOnce is stopAll for a stop so short that asking who sleeps would take longer.
func (c *Controller) stopAtOnce() {
	c.holds++
	c.stopRest()
}

func (c *Controller) stopRest() {
	for _, t := range c.threads {
		if t.role != roleCopy && t.m.holds == 0 {
			c.hold(t)
		}
	}
	c.await(stuckFor)
	c.seizeNewborn()
	// Who was forked has our traps, and is cleaned of those that the table still knows.
	if c.until(func() bool { return !c.copies() }, nil) {
		c.disarm()
		c.steady()
	}
}

// steady makes the kernel's registers of all stopped threads what they are to run on
// with, as they would when we are killed: a thread that has hit a trap then makes its
// instruction. The SIGTRAP itself is not delivered any more once it was reported.
func (c *Controller) steady() {
	for _, t := range c.threads {
		if t.m.state == stateStopped {
			c.flushRegs(t)
		}
	}
}

// manyThreads is from how many threads on it is worth asking which of them sleep.
const manyThreads = 16

// stopSleepers stops the threads that sleep, and returns when they stand: each has to
// be woken for that, which those that run need not wait for. A thread that falls asleep
// or wakes up meanwhile waits a little longer, or less. The others run on, over
// breakpoints too, whose handlers may want to stop everybody themselves.
func (c *Controller) stopSleepers() {
	for _, t := range c.threads {
		if t.role != roleThread || t.m.holds > 0 || t.m.state != stateRunning {
			continue
		}
		if st, err := procfs.ReadTaskStat(c.pid, t.tid); err == nil && st.State != 'R' {
			c.hold(t)
		}
	}
	c.await(stuckFor)
}

// runnersFirst returns all threads, those that were stopped in a system call after
// those that may have been executing code of their own and have to get on with it.
func (c *Controller) runnersFirst() []*thread {
	all := make([]*thread, 0, len(c.threads))
	for _, called := range [...]bool{false, true} {
		for _, t := range c.threads {
			_, _, in := t.regs.SyscallReturn()
			if (t.regOK && in) == called {
				all = append(all, t)
			}
		}
	}
	return all
}

// await handles reports until no thread is waited for, or those that are left have
// been found stuck so often.
func (c *Controller) await(patience int) {
	for c.awaited > 0 && !c.over {
		pending := make([]*thread, 0, c.awaited)
		for _, t := range c.threads {
			if t.awaited {
				pending = append(pending, t)
			}
		}
		before := c.awaited
		c.collect(pending, func(t *thread) bool { return t.awaited }, func() {
			// As long as some stop, the others are only waiting for a processor.
			if c.awaited == before {
				c.parkStuck(patience)
			}
			before = c.awaited
		})
	}
}

// parkStuck gives up on threads that have been found stuck so often.
func (c *Controller) parkStuck(patience int) {
	for _, t := range c.threads {
		if t.awaited && c.unresponsive(t, patience) {
			c.park(t)
		}
	}
}

// resumeAll undoes one stopAll. A rendezvous that was asked for while threads were being
// stopped begins now.
func (c *Controller) resumeAll() {
	c.nextPoint()
	if c.over {
		return
	}
	c.holds--
	if c.holds > 0 {
		return
	}
	c.arm()
	all := c.runnersFirst()
	for _, t := range all {
		c.arrived(t)
		if t.m.holds > 0 {
			t.m.unhold()
			c.trace.did(t, deedUnhold, 0, nil)
		}
	}
	// Stepping one of them off its breakpoint may stop all once more.
	for _, t := range all {
		c.settle(t)
	}
}

// runOn resumes a held thread, which is held again at its next stop.
func (c *Controller) runOn(t *thread) {
	t.m.loose()
	c.trace.did(t, deedUnhold, 0, nil)
	c.resume(t)
	t.m.rehold()
	c.trace.did(t, deedRehold, 0, nil)
}

// Stopped is the target standing still. It is valid until the function that was
// given it returns, and only on the control goroutine.
type Stopped struct{ c *Controller }

// Threads returns the target's threads, in no particular order.
func (s *Stopped) Threads() []*Thread {
	ts := make([]*Thread, 0, len(s.c.threads))
	for _, t := range s.c.threads {
		if t.role == roleThread {
			ts = append(ts, &Thread{s.c, t})
		}
	}
	return ts
}

// Thread returns the thread with number tid, or nil.
func (s *Stopped) Thread(tid int) *Thread {
	if t := s.c.threads[tid]; t != nil && t.role == roleThread {
		return &Thread{s.c, t}
	}
	return nil
}

// Pause stops every thread, calls f on the control goroutine and lets them run on,
// unless the target is held at a rendezvous. It returns what f returns. f must not
// make requests of this controller that wait (they return ErrOnControl).
func (c *Controller) Pause(ctx context.Context, f func(*Stopped) error) error {
	var err error
	if e := c.do(ctx, func() {
		c.stopAll()
		if c.over {
			err = ErrEnded
			return
		}
		defer c.resumeAll()
		err = f(&Stopped{c})
	}); e != nil {
		return e
	}
	return err
}

// Do calls f on the control goroutine without stopping the target.
func (c *Controller) Do(ctx context.Context, f func()) error { return c.do(ctx, f) }

// reach brings the target to a rendezvous for each of points that is wanted, in
// order: it stands still until Continue or Release, and requests are served
// meanwhile.
func (c *Controller) reach(points ...notify.Point) {
	for _, p := range points {
		if c.points.Take(p) {
			c.here = append(c.here, p)
		}
	}
	c.nextPoint()
}

// nextPoint announces the next rendezvous at this place, if there is one.
func (c *Controller) nextPoint() {
	if len(c.here) == 0 || c.held.Load() != 0 || c.over {
		return
	}
	c.stopAll()
	if c.over {
		return
	}
	if len(c.here) == 0 || c.held.Load() != 0 {
		c.resumeAll() // an exec that was reported meanwhile has announced it
		return
	}
	p := c.here[0]
	c.here = c.here[1:]
	c.held.Store(uint32(p))
	c.publish(notify.Event{Kind: notify.Stopped, Point: p, Threads: c.count()})
}

// Continue lets a target go on that is held at a rendezvous. ErrNotHeld if it is not.
func (c *Controller) Continue(ctx context.Context) error {
	var err error
	if e := c.do(ctx, func() {
		if c.held.Load() == 0 {
			err = ErrNotHeld
			return
		}
		c.held.Store(0)
		c.publish(notify.Event{Kind: notify.Continued})
		c.nextPoint() // holds again before the present hold ends
		c.resumeAll()
	}); e != nil {
		return e
	}
	return err
}
