package bkpt

import (
	"errors"
	"fmt"
	"io"
)

// Uprobes is the second kind of trap: probes of the kernel, each of one
// instruction in all threads of a process, that signal the thread or only count.
// The kernel executes the instruction, and lifts the probes when we are killed.
// All methods belong to the control goroutine.
type Uprobes struct {
	open    func(b *Breakpoint) (io.Closer, error)
	discard func(io.Closer) (closed <-chan struct{})
	probes  map[uint64]io.Closer
}

// NewUprobes returns a kind of trap. open makes the probe of a breakpoint;
// discard takes over one that is no longer wanted, and returns before it is
// closed.
func NewUprobes(open func(b *Breakpoint) (io.Closer, error), discard func(io.Closer) (closed <-chan struct{})) *Uprobes {
	return &Uprobes{open: open, discard: discard, probes: make(map[uint64]io.Closer)}
}

// Lasting: the kernel keeps the probes.
func (u *Uprobes) Lasting() bool { return true }

// Recognise: the signal of a probe comes with the address that was probed.
func (u *Uprobes) Recognise(s Stop) (addr uint64, ok bool) { return s.Probed, s.Probed != 0 }

// Has reports whether b is of this kind.
func (u *Uprobes) Has(b *Breakpoint) bool { return b.trap == u }

// Len returns the number of probes.
func (u *Uprobes) Len() int { return len(u.probes) }

// Plant opens the probes.
func (u *Uprobes) Plant(t *Table, bs []*Breakpoint) error {
	var errs []error
	for _, b := range bs {
		p, err := u.open(b)
		if err != nil {
			errs = append(errs, fmt.Errorf("probe at %#x: %w", b.Addr, err))
			continue
		}
		u.probes[b.Addr] = p
		b.armed = true
		t.probed[b.Addr] = &probed{orig: b.orig()}
	}
	return errors.Join(errs...)
}

// Lift gives the probes of the breakpoints away.
func (u *Uprobes) Lift(t *Table, bs []*Breakpoint) error {
	for _, b := range bs {
		if p, ok := u.probes[b.Addr]; ok {
			delete(u.probes, b.Addr)
			closed := u.discard(p)
			if k := t.probed[b.Addr]; k != nil {
				k.closed = closed
			}
		}
		b.armed = false
	}
	return nil
}

// probed is what the table knows of a place where the kernel has a trap, or had
// one a moment ago.
type probed struct {
	orig   byte
	closed <-chan struct{} // nil while the probe is wanted
}

// unprobe waits until the kernel's trap has left the text at addr. One that is
// wanted stays.
func (t *Table) unprobe(addr uint64) {
	if p := t.probed[addr]; p != nil && p.closed != nil {
		<-p.closed
		delete(t.probed, addr)
	}
}

// unprobeRange takes the kernel's traps out of [addr, end) for good: wanted ones
// become int3s.
func (t *Table) unprobeRange(addr, end uint64) error {
	for at := range t.probed {
		if at >= end || at+codeSize <= addr {
			continue
		}
		if b := t.byAddr[at]; b != nil && b.trap.Lasting() {
			if err := t.Change(b, t.kinds[0]); err != nil {
				return err
			}
		}
		t.unprobe(at)
	}
	return nil
}

// Strange reports whether a trap stands at addr that the table knows nothing of.
func (t *Table) Strange(addr uint64) bool {
	p := []byte{0}
	if readFull(t.mem, p, addr) != nil {
		return false
	}
	t.Overlay(p, addr)
	return p[0] == breakByte
}

// hideProbes replaces the kernel's traps in p, which was read at addr.
func (t *Table) hideProbes(p []byte, addr uint64) {
	for at, k := range t.probed {
		if i := at - addr; i < uint64(len(p)) && p[i] == breakByte {
			p[i] = k.orig
		}
		if k.closed == nil {
			continue
		}
		select {
		case <-k.closed:
			delete(t.probed, at)
		default:
		}
	}
}

// Change makes b another kind of trap, another probe or, of a probe, an int3. If
// that cannot be planted b keeps the kind it has. For the time of a change to an
// int3, which waits for the kernel, threads run past the breakpoint.
func (t *Table) Change(b *Breakpoint, k Trap) error {
	old, probe := b.trap.(*Uprobes)
	switch {
	case b.trap == k:
		return nil
	case !probe:
		return errors.ErrUnsupported
	case !b.armed:
	case k.Lasting():
		// The new one is there before the old one goes, and is the one that hides the
		// trap, which is the same for both.
		if err := k.Plant(t, []*Breakpoint{b}); err != nil {
			return err
		}
		old.discard(old.probes[b.Addr])
		delete(old.probes, b.Addr)
	default:
		if err := old.Lift(t, []*Breakpoint{b}); err != nil {
			return err
		}
		t.unprobe(b.Addr)
		if err := k.Plant(t, []*Breakpoint{b}); err != nil {
			return err
		}
	}
	b.trap = k
	t.use(k)
	return nil
}
