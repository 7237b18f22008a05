package control

import (
	"context"
	"slices"
	"syscall"

	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/notify"
)

// Catch is one client's interest in the signals that the target's threads receive.
type Catch struct {
	c *Controller
	f func(*Delivery)
}

// Delivery is a signal that a thread is about to receive. The thread is stopped, and its
// handler has not begun. A Delivery is valid until the function that it was given to
// returns.
type Delivery struct {
	c *Controller
	t *tracee.Thread
}

// Catch calls f on the control goroutine for every signal that a thread of the target is
// about to receive, whatever its disposition. Signals of our traps are left out. f must
// copy what it needs and return. Catch may be called from any goroutine and from handlers.
func (c *Controller) Catch(ctx context.Context, f func(*Delivery)) (*Catch, error) {
	k := &Catch{c, f}
	if err := c.either(ctx, func() { c.catches = append(c.catches, k) }); err != nil {
		return nil, err
	}
	return k, nil
}

// Remove ends the interest. Idempotent; may be called from handlers.
func (k *Catch) Remove(ctx context.Context) error {
	return k.c.either(ctx, func() {
		k.c.catches = slices.DeleteFunc(slices.Clone(k.c.catches), func(x *Catch) bool { return x == k })
	})
}

// TID returns the thread.
func (d *Delivery) TID() int { return d.t.TID }

// Signal returns the signal.
func (d *Delivery) Signal() syscall.Signal { return d.t.M.Signal() }

// Info returns the siginfo that comes with it; zero if the thread is being killed.
func (d *Delivery) Info() (si ptrace.SigInfo) {
	ptrace.GetSigInfo(d.t.TID, &si)
	return si
}

// Regs returns the thread's registers, to be read until f returns; zero if the thread is
// being killed.
func (d *Delivery) Regs() *ptrace.Regs {
	if d.c.tracees.LoadRegs(d.t) != nil {
		return new(ptrace.Regs)
	}
	return &d.t.Regs
}

// ReadAt reads the target's memory without our traps in it.
func (d *Delivery) ReadAt(p []byte, addr int64) (int, error) { return d.c.traps.readAt(p, addr) }

// Hold asks for a rendezvous when all clients have been notified of the signal. The whole
// target then stands still until Continue, which delivers the signal.
func (d *Delivery) Hold() { d.c.rendezvous.wantHold = true }

// caught notifies the clients of a signal.
func (c *Controller) caught(t *tracee.Thread) {
	c.tracees.Alert.Thread.Off()
	c.traps.handling++
	for _, k := range c.catches {
		k.f(&Delivery{c, t})
	}
	c.traps.handling--
	c.publish(notify.Event{Kind: notify.Signal, TID: t.TID, Signal: int(t.M.Signal())})
	if c.rendezvous.wantHold {
		c.rendezvous.wantHold = false
		c.rendezvous.here = append(c.rendezvous.here, notify.PointSignal)
		if t.M.Holds() > 0 {
			return // all are being stopped, this thread included: ResumeAll begins the rendezvous
		}
		c.rendezvous.nextPoint()
	}
}
