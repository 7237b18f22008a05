package bkpt

import (
	"errors"
	"slices"
)

// Overlay replaces in p, which has just been read from the target at addr, the
// traps and scratch slots by the program's own bytes.
func (t *Table) Overlay(p []byte, addr uint64) {
	if len(t.sorted) > 0 {
		for _, b := range t.within(addr, addr+uint64(len(p))) {
			if i := b.Addr - addr; b.armed && p[i] == breakByte {
				p[i] = b.Orig()
			}
		}
	}
	if len(t.probed) > 0 {
		t.probed.overlay(p, addr)
	}
	if t.elsewhere != nil && HasTrap(p) {
		t.elsewhere(p, addr)
	}
	t.scratch.overlay(p, addr)
}

// Write writes p to the target at addr for a client. The traps in the range stay
// planted, p's bytes become the original bytes under them, and plans are made anew.
// A breakpoint that is not at an instruction any more is lifted and dead. A probe in
// the range becomes an int3, because the kernel executes what the file has.
func (t *Table) Write(p []byte, addr uint64) error {
	end := addr + uint64(len(p))
	if err := t.unprobe(addr, end); err != nil {
		return err
	}
	text := slices.Clone(p)
	in := t.within(addr, end)
	for _, b := range in {
		if b.armed {
			text[b.Addr-addr] = breakByte
		}
	}
	t.scratch.write(text, addr)
	if err := t.replace(text, p, addr); err != nil {
		return err
	}
	for _, b := range in {
		b.code[0] = p[b.Addr-addr]
	}
	var errs []error
	for _, b := range t.within(addr-min(addr, codeSize), end) {
		errs = append(errs, t.rewritten(b))
	}
	return errors.Join(errs...)
}

// rewritten makes a new plan for b after its text was written.
func (t *Table) rewritten(b *Breakpoint) error {
	if b.dead {
		return nil
	}
	t.scratch.retire(b)
	if b.read(t) == nil {
		return nil
	}
	err := t.lift(b)
	b.dead = true
	t.lifted[b.Addr] = lifted{b.Orig(), b.place}
	return err
}

// Clean makes the memory of a fork child the program's own. It restores the
// original byte where there is a trap of ours, present or recently lifted, and the
// original bytes of scratch slots. It must be called while the child is stopped,
// before it first runs. It must not be called for a vfork child, whose memory is
// its parent's. The kernel cleans lasting traps. of tells what is mapped in the
// child; if it is nil, every trap is taken to be in the memory it was planned for.
func (t *Table) Clean(child Memory, of Ground) error {
	g := ground{of: of}
	bs := slices.DeleteFunc(slices.Clone(t.sorted), func(b *Breakpoint) bool {
		return b.After() || of != nil && !g.has(b.Addr, b.place)
	})
	clean := func(_ *Table, run []*Breakpoint, raw []byte) error {
		if !hide(run, raw) {
			return nil
		}
		return writeRun(child, run, raw)
	}
	unmapped := func(*Table, *Breakpoint) {} // in the child: nothing to clean
	errs := []error{t.eachRun(child, bs, clean, unmapped)}
	for addr, l := range t.lifted {
		if of == nil || g.has(addr, l.place) {
			errs = append(errs, cleanByte(child, addr, l.orig))
		}
	}
	errs = append(errs, t.scratch.clean(child))
	return errors.Join(errs...)
}

// cleanByte writes orig where there is a trap. Memory that cannot be read is not
// mapped in the child, and needs no cleaning.
func cleanByte(child Memory, addr uint64, orig byte) error {
	if orig == breakByte {
		return nil
	}
	p := []byte{0}
	if readFull(child, p, addr) != nil || p[0] != breakByte {
		return nil
	}
	p[0] = orig
	return writeFull(child, p, addr)
}
