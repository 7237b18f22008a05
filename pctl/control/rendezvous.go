package control

import (
	"context"
	"errors"
	"sync/atomic"

	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/notify"
)

// ErrNotHeld is the error of Continue for a target that is not held at a rendezvous.
var ErrNotHeld = errors.New("process is not stopped at a rendezvous")

// rendezvous holds the target at the points where its clients want to meet it.
type rendezvous struct {
	c         *Controller
	g         *tracee.Group
	held      atomic.Uint32  // notify.Point at which the target is held
	points    notify.Points  // still wanted
	here      []notify.Point // due at this place
	wantHold  bool           // a handler has asked for one
	wantPoint bool           // a rendezvous point was hit
}

// reach brings the target to a rendezvous at each of points that is wanted, in order. At
// each it stands still until Continue or Release, and requests are served meanwhile.
func (v *rendezvous) reach(points ...notify.Point) {
	for _, p := range points {
		if v.points.Take(p) {
			v.here = append(v.here, p)
		}
	}
	v.nextPoint()
}

// nextPoint announces the next rendezvous at this place, if there is one.
func (v *rendezvous) nextPoint() {
	if len(v.here) == 0 || v.held.Load() != 0 || v.g.Phase().Over() {
		return
	}
	v.g.Stopper.StopAll()
	if v.g.Phase().Over() {
		return
	}
	if len(v.here) == 0 || v.held.Load() != 0 {
		v.g.Stopper.ResumeAll() // an exec that was reported meanwhile has announced it
		return
	}
	p := v.here[0]
	v.here = v.here[1:]
	v.held.Store(uint32(p))
	v.c.publish(notify.Event{Kind: notify.Stopped, Point: p, Threads: v.g.Count()})
}

// Continue resumes a target that is held at a rendezvous. The error is ErrNotHeld if it is
// not.
func (c *Controller) Continue(ctx context.Context) error {
	var err error
	if e := c.tracees.Requests.Do(ctx, func() {
		if c.rendezvous.held.Load() == 0 {
			err = ErrNotHeld
			return
		}
		c.rendezvous.held.Store(0)
		c.publish(notify.Event{Kind: notify.Continued})
		c.rendezvous.nextPoint() // holds again before the present hold ends
		c.tracees.Stopper.ResumeAll()
	}); e != nil {
		return e
	}
	return err
}

// Stopped is the target with all its threads stopped. It is valid until the function that
// it was given to returns, and only on the control goroutine.
type Stopped struct{ c *Controller }

// Threads returns the target's threads, in no particular order.
func (s *Stopped) Threads() []*Thread {
	ts := make([]*Thread, 0, len(s.c.tracees.Threads))
	for _, t := range s.c.tracees.Threads {
		if t.Role == tracee.RoleThread {
			ts = append(ts, &Thread{s.c, t})
		}
	}
	return ts
}

// Thread returns the thread with number tid, or nil.
func (s *Stopped) Thread(tid int) *Thread {
	if t := s.c.tracees.Threads[tid]; t != nil && t.Role == tracee.RoleThread {
		return &Thread{s.c, t}
	}
	return nil
}

// Pause stops every thread, calls f on the control goroutine and resumes the threads,
// unless the target is held at a rendezvous. It returns the error of f. f must not make
// requests of this controller that wait (they return ErrOnControl).
func (c *Controller) Pause(ctx context.Context, f func(*Stopped) error) error {
	var err error
	if e := c.tracees.Requests.Do(ctx, func() {
		c.tracees.Stopper.StopAll()
		if c.tracees.Phase().Over() {
			err = ErrEnded
			return
		}
		defer c.tracees.Stopper.ResumeAll()
		err = f(&Stopped{c})
	}); e != nil {
		return e
	}
	return err
}

// Do calls f on the control goroutine without stopping the target.
func (c *Controller) Do(ctx context.Context, f func()) error { return c.tracees.Requests.Do(ctx, f) }

// announceHere asks for a rendezvous at each of points that is wanted, when the handlers of
// this hit have returned.
func (v *rendezvous) announceHere(points ...notify.Point) {
	for _, p := range points {
		if v.points.Take(p) {
			v.here = append(v.here, p)
			v.wantPoint = true
		}
	}
}

// StopAt asks for more rendezvous points. Each is announced once, like those of
// Options.Stop. Preinit, Postinit and Main are points of the program that has just been
// executed, until it has come there. After that they are points of the next program. StopAt
// may be called from any goroutine and from handlers.
func (c *Controller) StopAt(ctx context.Context, points ...notify.Point) error {
	return c.either(ctx, func() {
		more := notify.PointsOf(points...) &^ c.rendezvous.points
		c.rendezvous.points |= more
		if c.image.linkerWanted() {
			c.image.followLinker()
		}
		c.image.planPoints(more)
	})
}

// Thread is a thread of a stopped target. It is valid until the function that it was given
// to returns, and only on the control goroutine.
type Thread struct {
	c *Controller
	t *tracee.Thread
}

// TID returns the thread's number.
func (t *Thread) TID() int { return t.t.TID }

// Name returns the thread's name (comm) if it is known without another reading, or an empty one.
func (t *Thread) Name() string { return t.t.Name }

// Regs returns the registers. They may be read, not changed. The error is ESRCH for a
// thread that could not be stopped (Parked) or is dying.
func (t *Thread) Regs() (*ptrace.Regs, error) {
	if err := t.c.tracees.LoadRegs(t.t); err != nil {
		return nil, err
	}
	return &t.t.Regs, nil
}

// SetRegs changes the registers; they take effect when the thread runs.
func (t *Thread) SetRegs(r *ptrace.Regs) error {
	if err := t.c.tracees.LoadRegs(t.t); err != nil {
		return err
	}
	t.t.SetRegs(r)
	return nil
}

// LookIf interrupts the threads tids together. It calls visit for each on the control
// goroutine, with its registers, as soon as the thread has stopped. The thread is resumed
// when visit returns. No thread waits for another. visit must not make requests; it should
// copy what it needs and return.
//
// A thread that cannot be stopped now, has ended, or does not exist, is counted in missed.
// ready is called on the control goroutine right before each interrupt. A thread for which
// it returns false is left alone, and counted in missed as well. A nil ready is always
// true.
//
// While the look waits, over is called every millisecond or so. When it returns true, the
// threads that have not stopped are missed: a thread that is given no processor does not
// stop before it is. A nil over is never true.
func (c *Controller) LookIf(ctx context.Context, tids []int, ready func(tid int) bool, over func() bool, visit func(tid int, regs *ptrace.Regs)) (missed int, err error) {
	l := tracee.Look{Ready: ready, Over: over, Visit: visit}
	err = c.tracees.Requests.Do(ctx, func() {
		c.image.demand()
		c.tracees.Looks.All(tids, &l)
	})
	return l.Lost, err
}
