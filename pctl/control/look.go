package control

import (
	"context"

	"ptools/internal/ptrace"
)

// look is one request to see a set of threads.
type look struct {
	pending int
	lost    int
	ready   func(tid int) bool
	visit   func(tid int, regs *ptrace.Regs)
}

// missed takes a thread off the look that could not be seen.
func (l *look) missed(t *thread) {
	t.look = nil
	l.pending--
	l.lost++
}

// Look interrupts the threads tids together and calls visit for each as soon as it
// has stopped, on the control goroutine, with its registers; the thread runs on when
// visit returns. No thread waits for another. visit must not make requests and
// should copy and return. A thread that cannot be stopped now, has ended, or does
// not exist, is counted in missed.
func (c *Controller) Look(ctx context.Context, tids []int, visit func(tid int, regs *ptrace.Regs)) (missed int, err error) {
	return c.LookIf(ctx, tids, nil, nil, visit)
}

// LookIf is Look at those threads for which ready, called on the control goroutine right before the interrupt,
// returns true; the others are left alone, and counted in missed. A nil ready is always true. While the look
// waits, over is asked every millisecond or so, and when it returns true the threads that have not stopped are missed: a
// thread that is given no processor does not stop before it is. A nil over is never true.
func (c *Controller) LookIf(ctx context.Context, tids []int, ready func(tid int) bool, over func() bool, visit func(tid int, regs *ptrace.Regs)) (missed int, err error) {
	l := look{ready: ready, visit: visit}
	err = c.do(ctx, func() {
		pending := c.seen[:0]
		for _, tid := range tids {
			if t := c.lookAt(tid, &l); t != nil {
				pending = append(pending, t)
			}
		}
		c.seen = pending
		before := l.pending
		c.collect(pending, func(t *thread) bool { return t.look == &l }, func() {
			switch {
			case over != nil && over():
				c.missPending(&l)
			case l.pending == before:
				c.missUnresponsive(&l)
			}
			before = l.pending
		})
		if l.pending > 0 {
			l.lost += l.pending // the target has ended
		}
	})
	return l.lost, err
}

// lookAt asks one thread to stop for a look, and returns it if it has to be waited for.
func (c *Controller) lookAt(tid int, l *look) *thread {
	t := c.threads[tid]
	if t == nil || t.role != roleThread || t.look != nil || l.ready != nil && !l.ready(tid) {
		l.lost++
		return nil
	}
	l.pending++
	t.look = l
	switch {
	case t.m.state == stateStopped:
		c.visit(t)
		return nil
	case t.vfork || t.parked:
		l.missed(t)
		return nil
	}
	c.interrupt(t, t.m.ask())
	return t
}

// visit shows a stopped thread to the look that wants it.
func (c *Controller) visit(t *thread) {
	l := t.look
	if err := c.loadRegs(t); err != nil {
		l.missed(t)
		return
	}
	t.look = nil
	l.pending--
	l.visit(t.tid, c.shown(t))
}

// missPending ends a look: threads that stop later run on at once.
func (c *Controller) missPending(l *look) {
	for _, t := range c.threads {
		if t.look == l {
			l.missed(t)
		}
	}
}

func (c *Controller) missUnresponsive(l *look) {
	for _, t := range c.threads {
		if t.look == l && c.unresponsive(t, stuckFor) {
			l.missed(t)
		}
	}
}
