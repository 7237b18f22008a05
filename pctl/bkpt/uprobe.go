package bkpt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Uprobes is the second kind of trap: uprobes of the kernel. A probe is at one
// instruction of a file, in all threads of a process, and signals the thread or only counts.
// Breakpoints where that file is mapped several times may share a probe.
// The kernel executes the instruction, and lifts the probes when we are killed.
// All methods belong to the control goroutine.
type Uprobes struct {
	open    func(b *Breakpoint) (Probe, error)
	discard func(Probe) (closed <-chan struct{})
	probes  map[uint64]Probe
}

// Probe is a probe of Uprobes. Probes are compared: those of two breakpoints may be the same.
type Probe interface {
	io.Closer
	// Gone returns a channel that is closed when the probe has been closed. Probes that are made and closed at once have the same.
	Gone() <-chan struct{}
}

// NewUprobes returns a kind of trap. open returns the probe of a breakpoint, a new one or that of another breakpoint.
// discard takes over a probe that is not wanted any more, and returns before the
// probe is closed.
func NewUprobes(open func(b *Breakpoint) (Probe, error), discard func(Probe) (closed <-chan struct{})) *Uprobes {
	return &Uprobes{open: open, discard: discard, probes: make(map[uint64]Probe)}
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
		if _, ok := u.probes[b.Addr]; ok {
			t.probed.at(b.Addr, b.Orig()).wanted = false
			u.giveUp(t, b)
		}
		b.armed = false
	}
	return nil
}

// giveUp discards the probe of a breakpoint, unless another breakpoint has the same one.
func (u *Uprobes) giveUp(t *Table, b *Breakpoint) {
	p := u.probes[b.Addr]
	delete(u.probes, b.Addr)
	closed := p.Gone()
	if !u.Uses(p) {
		closed = u.discard(p)
	}
	t.probed[b.Addr].add(closed)
}

// Opens reports whether b, which is being planted, is to have a probe of this kind.
func (u *Uprobes) Opens(b *Breakpoint) bool { return b.trap == u }

// Each calls f with the probes of all breakpoints.
func (u *Uprobes) Each(f func(Probe)) {
	for _, p := range u.probes {
		f(p)
	}
}

// At returns the probe of the breakpoint at addr, or nil.
func (u *Uprobes) At(addr uint64) Probe { return u.probes[addr] }

// Uses reports whether a breakpoint has a probe.
func (u *Uprobes) Uses(p Probe) bool {
	for _, other := range u.probes {
		if other == p {
			return true
		}
	}
	return false
}

// Find returns a probe that a breakpoint has and that is wanted, or nil.
func (u *Uprobes) Find(wanted func(Probe) bool) Probe {
	for _, p := range u.probes {
		if wanted(p) {
			return p
		}
	}
	return nil
}

// Sharing returns the breakpoints that have the same probe as b, in ascending order: b, and others where the same file
// is mapped.
func (u *Uprobes) Sharing(t *Table, b *Breakpoint) []*Breakpoint {
	var bs []*Breakpoint
	for _, other := range t.sorted {
		if p, ok := u.probes[other.Addr]; ok && p == u.probes[b.Addr] {
			bs = append(bs, other)
		}
	}
	return bs
}

// together returns the breakpoints whose probes are closed at once with that of b, in ascending order: they share it, or were made with it.
func (u *Uprobes) together(t *Table, b *Breakpoint) (bs []*Breakpoint) {
	for _, other := range t.sorted {
		if p, ok := u.probes[other.Addr]; ok && p.Gone() == u.probes[b.Addr].Gone() {
			bs = append(bs, other)
		}
	}
	return bs
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
		if len(ps)%manyPlaces == manyPlaces-1 {
			maps.DeleteFunc(ps, func(_ uint64, k *probed) bool { return k.gone() })
		}
		k = new(probed)
		ps[addr] = k
	}
	k.orig = orig
	return k
}

// manyPlaces are so many that text is searched for traps, and not by places.
const manyPlaces = 64

// between reports whether the kernel has a trap between two addresses.
func (ps places) between(lo, hi uint64) bool {
	for addr := range ps {
		if lo < addr && addr < hi {
			return true
		}
	}
	return false
}

// errStays is the error of a change to text where the kernel has a trap of ours that cannot be lifted by itself.
var errStays = errors.New("a uprobe of ours stands there, which is lifted together with others that are wanted")

// free waits until the kernel's trap has left the text at addr. It does not wait for a trap that is wanted.
func (ps places) free(addr uint64, stays func(gone <-chan struct{}) bool) error {
	if k := ps[addr]; k != nil && !k.wanted && stays != nil && slices.ContainsFunc(k.closing, stays) {
		return errStays
	}
	ps.await(addr)
	return nil
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
	if len(ps) >= manyPlaces {
		for i := range p {
			if p[i] != breakByte {
				continue
			}
			if k := ps[addr+uint64(i)]; k != nil {
				p[i] = k.orig
			}
		}
		return
	}
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
		if err := t.probed.free(at, t.Stays); err != nil {
			return err
		}
	}
	return nil
}
