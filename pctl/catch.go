package pctl

import (
	"context"
	"errors"
	"syscall"

	"ptools/internal/procfs"
	"ptools/pctl/control"
)

// Catch is a function that is called for signals. It belongs to the Process that it
// was set through, which removes it when it is closed. The underlying control.Catch
// ends with control.
type Catch struct {
	p *Process
	c *control.Catch
}

// Delivery is a signal that a thread is about to receive. The thread stands where it
// was interrupted, or at the instruction that has failed. The signal's handler has not
// begun. Only the function that the Delivery was given to may call its methods.
type Delivery struct {
	TID    int
	Signal syscall.Signal
	// Code is the si_code. It is greater than 0 where the kernel has raised the signal,
	// for a fault for instance. Addr is then the address that goes with it: that of the
	// access for SIGSEGV and SIGBUS, that of the instruction for SIGILL and SIGFPE.
	Code int
	Addr uint64

	p *Process
	d *control.Delivery // gone when the function has returned; the fields above may be kept
}

// Catch has f called for every signal that a thread is about to receive, whatever
// the process does about the signal. Like a Handler, f runs on the control
// goroutine; it should copy what it needs and return.
func (p *Process) Catch(ctx context.Context, f func(*Delivery)) (*Catch, error) {
	c, err := p.control("catch")
	if err != nil {
		return nil, err
	}
	k := &Catch{p: p}
	k.c, err = c.Catch(ctx, func(d *control.Delivery) { f(deliveryOf(p, d)) })
	if err != nil {
		return nil, p.fail("catch", err)
	}
	if err := p.own("catch", k.c, nil); err != nil {
		return nil, err
	}
	return k, nil
}

func deliveryOf(p *Process, d *control.Delivery) *Delivery {
	v := &Delivery{TID: d.TID(), Signal: d.Signal(), p: p, d: d}
	si := d.Info()
	v.Code = int(si.Code)
	switch v.Signal {
	case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGTRAP:
		if si.Code > 0 {
			v.Addr = si.Fields[0]
		}
	}
	return v
}

// Remove ends the calls. To remove it again, or after the process has ended, is no
// error.
func (k *Catch) Remove(ctx context.Context) error { return k.p.disown(ctx, "catch", k.c) }

// Registers returns the thread's registers.
func (d *Delivery) Registers() *Registers { return (*Registers)(&d.d.Regs().Regs) }

// ReadAt reads the process's memory, without our traps in it. It implements
// io.ReaderAt; an address is given as a signed number (two's complement).
func (d *Delivery) ReadAt(b []byte, addr int64) (int, error) { return d.d.ReadAt(b, addr) }

// Thread copies the thread's registers and stack. Its call stack can be had
// from the copy later, when the thread runs again or has ended.
func (d *Delivery) Thread() *Thread {
	t := d.p.copyThread(d.TID, d.d.Regs(), d.d)
	t.space.Refresh() // its callers may be in newer objects than the map, and the process may be about to end
	return t
}

// Hold asks for a rendezvous (PointSignal) when f has returned: the whole process
// stands still until Continue, which delivers the signal.
func (d *Delivery) Hold() { d.d.Hold() }

// Caught reports whether the process has a handler for the signal, or ignores it.
// Otherwise the signal has its default effect.
func (d *Delivery) Caught() bool {
	st, err := procfs.ReadTaskStatus(d.p.PID(), d.TID)
	return err == nil && (st.SigCgt|st.SigIgn)>>(d.Signal-1)&1 != 0
}

// remover is what a reference has set in a process, and removes when it is closed.
type remover interface{ Remove(context.Context) error }

// own notes what a reference has set, and the breakpoint that it is, if it is one. If the reference was closed
// meanwhile, own removes r.
func (p *Process) own(op string, r remover, b *Breakpoint) error {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		if p.owned == nil {
			p.owned = make(map[remover]*Breakpoint)
		}
		p.owned[r] = b
		if b != nil {
			b.number = p.numbers
			p.numbers++
		}
	}
	p.mu.Unlock()
	if closed {
		r.Remove(context.Background())
		return p.open(op)
	}
	return nil
}

// disown removes what a reference has set.
func (p *Process) disown(ctx context.Context, what string, r remover) error {
	err := r.Remove(ctx)
	if err != nil && !errors.Is(err, ErrEnded) && !errors.Is(err, ErrReleased) {
		return p.fail("remove "+what, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.owned, r)
	return nil
}
