package bkpt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Uprobes is the second kind of trap: uprobes of the kernel. A probe is at one
// instruction, in all threads of a process, and signals the thread or only counts.
// The kernel executes the instruction, and lifts the probes when we are killed.
// All methods belong to the control goroutine.
type Uprobes struct {
	open    func(b *Breakpoint) (io.Closer, error)
	discard func(io.Closer) (closed <-chan struct{})
	probes  map[uint64]io.Closer
}

// NewUprobes returns a kind of trap. open makes the probe of a breakpoint.
// discard takes over a probe that is not wanted any more, and returns before the
// probe is closed.
func NewUprobes(open func(b *Breakpoint) (io.Closer, error), discard func(io.Closer) (closed <-chan struct{})) *Uprobes {
	return &Uprobes{open: open, discard: discard, probes: make(map[uint64]io.Closer)}
}

// Lasting: the kernel keeps the probes.
func (u *Uprobes) Lasting() bool { return true }

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
		k := t.probed.at(b.Addr, b.Orig())
		k.wanted = true
	}
	return errors.Join(errs...)
}

// Lift discards the probes of the breakpoints.
func (u *Uprobes) Lift(t *Table, bs []*Breakpoint) error {
	for _, b := range bs {
		if p, ok := u.probes[b.Addr]; ok {
			delete(u.probes, b.Addr)
			k := t.probed.at(b.Addr, b.Orig())
			k.wanted = false
			k.add(u.discard(p))
		}
		b.armed = false
	}
	return nil
}

// probed is what the table knows of an address where the kernel has a trap, or had
// one a moment ago.
type probed struct {
	orig    byte
	wanted  bool              // for a breakpoint
	closing []<-chan struct{} // of probes that were given up
}

// add records a probe that is being closed.
func (k *probed) add(closed <-chan struct{}) {
	if !slices.Contains(k.closing, closed) {
		k.closing = append(k.closing, closed)
	}
}

// gone reports that the kernel's trap has left the text.
func (k *probed) gone() bool {
	k.closing = slices.DeleteFunc(k.closing, func(closed <-chan struct{}) bool {
		select {
		case <-closed:
			return true
		default:
			return false
		}
	})
	return !k.wanted && len(k.closing) == 0
}

// places are the kernel's traps, by address.
type places map[uint64]*probed

// at returns the record of addr, which it makes if there is none, and sets its original byte.
func (ps places) at(addr uint64, orig byte) *probed {
	k := ps[addr]
	if k == nil {
		k = new(probed)
		ps[addr] = k
	}
	k.orig = orig
	return k
}

// between reports whether the kernel has a trap between two addresses.
func (ps places) between(lo, hi uint64) bool {
	for addr := range ps {
		if lo < addr && addr < hi {
			return true
		}
	}
	return false
}

// await waits until the kernel's trap has left the text at addr. It does not wait
// for a trap that is wanted.
func (ps places) await(addr uint64) {
	k := ps[addr]
	if k == nil || k.wanted {
		return
	}
	for _, closed := range k.closing {
		<-closed
	}
	delete(ps, addr)
}

// overlay replaces the kernel's traps in p, which was read at addr.
func (ps places) overlay(p []byte, addr uint64) {
	for at, k := range ps {
		if i := at - addr; i < uint64(len(p)) && p[i] == breakByte {
			p[i] = k.orig
		}
		if k.gone() {
			delete(ps, at)
		}
	}
}

// HasTrap reports whether there may be a trap in text.
func HasTrap(text []byte) bool { return bytes.IndexByte(text, breakByte) >= 0 }

// Hide makes Overlay show orig at addr. The kernel has planted a trap there, of a probe
// that is being closed: the probe's file was mapped there meanwhile.
func (t *Table) Hide(addr uint64, orig byte, closed <-chan struct{}) {
	k := t.probed[addr]
	if k == nil {
		k = t.probed.at(addr, orig)
	}
	k.add(closed)
}

// unprobe removes the kernel's traps from [addr, end) for good. Wanted ones become
// int3s.
func (t *Table) unprobe(addr, end uint64) error {
	for at := range t.probed {
		if at >= end || at+codeSize <= addr {
			continue
		}
		if b := t.byAddr[at]; b != nil && b.trap.Lasting() {
			if err := t.Change(b, t.kinds[0]); err != nil {
				return err
			}
		}
		t.probed.await(at)
	}
	return nil
}

// Change gives b another kind of trap: another probe or, if it is a probe, an int3.
// If that cannot be planted, b keeps its kind. A change to an int3 waits for the
// kernel, and threads run past the breakpoint meanwhile.
func (t *Table) Change(b *Breakpoint, k Kind) error {
	old, probe := b.trap.(*Uprobes)
	if probe && !k.Lasting() {
		if err := t.stand(b); err != nil {
			return err
		}
	}
	switch {
	case b.trap == k:
		return nil
	case !probe:
		return errors.ErrUnsupported
	case !b.armed:
	case k.Lasting():
		// The new probe is made before the old one is discarded. The trap is the same for
		// both, and the new probe's record hides it.
		if err := k.Plant(t, []*Breakpoint{b}); err != nil {
			return err
		}
		t.probed[b.Addr].add(old.discard(old.probes[b.Addr]))
		delete(old.probes, b.Addr)
	default:
		if err := old.Lift(t, []*Breakpoint{b}); err != nil {
			return err
		}
		t.probed.await(b.Addr)
		if err := k.Plant(t, []*Breakpoint{b}); err != nil {
			return err
		}
	}
	b.trap = k
	t.use(k)
	return nil
}
