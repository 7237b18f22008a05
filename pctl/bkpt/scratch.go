package bkpt

import (
	"errors"
	"fmt"

	"ptools/internal/machine"
)

// ErrNoSlot is the error when every scratch slot is taken, or the table has no
// scratch area: the breakpoint's instruction has to be stepped in its own place.
var ErrNoSlot = errors.New("no scratch slot is free")

// SlotSize is the size and alignment of a scratch slot.
const SlotSize = machine.SlotSize

// Scratch is executable memory of the target, in slots of SlotSize bytes, where
// copies of instructions run. A breakpoint keeps its slot, and the copy in it,
// so that only its first displaced hit writes. Any number of threads may be in
// one slot. The bytes that were there before are kept. Disarm restores them, and
// Overlay shows them.
//
// A slot that was given up is not used again before Settle, because a thread may be in
// it. For the same reason the observer is not notified of copies: the guard that removes
// our traps after our death leaves copies in place. A thread comes out of most copies by
// itself, and no other thread enters them.
type Scratch struct {
	table *Table
	areas []*area
}

// area is one reserved range.
type area struct {
	start uint64
	orig  []byte
	slots []slot
}

type slot struct {
	addr    uint64
	orig    []byte       // in area.orig
	copy    machine.Copy // what was last written
	plan    machine.Plan // of the copied instruction
	from    uint64       // address of the copied instruction
	owner   *Breakpoint
	live    bool // copy is in the target's memory
	retired bool // without owner, but a thread may be in it
}

// Scratch returns the table's scratch slots.
func (t *Table) Scratch() *Scratch { return &t.scratch }

// Reserve makes slots of [start, start+size). The range must be mapped executable,
// and the program must never run or read it again: the rest of the last page after
// a text segment, or code that has run for the last time. The best place is within
// 2 GiB of the breakpoints.
func (s *Scratch) Reserve(start, size uint64) error {
	end := (start + size) &^ (SlotSize - 1)
	start = (start + SlotSize - 1) &^ (SlotSize - 1)
	if end <= start {
		return nil
	}
	g := ground{of: s.table.ground}
	if _, err := g.at(start); err != nil {
		return fmt.Errorf("scratch area: %w", err)
	}
	a := &area{start: start, orig: make([]byte, end-start)}
	if err := readFull(s.table.mem, a.orig, start); err != nil {
		return fmt.Errorf("scratch area: %w", err)
	}
	a.slots = make([]slot, (end-start)/SlotSize)
	for i := range a.slots {
		off := uint64(i) * SlotSize
		a.slots[i].addr = start + off
		a.slots[i].orig = a.orig[off:][:SlotSize:SlotSize]
	}
	s.areas = append(s.areas, a)
	return nil
}

// Free returns the number of slots that have no breakpoint.
func (s *Scratch) Free() int {
	n := 0
	for _, a := range s.areas {
		for i := range a.slots {
			if a.slots[i].free() {
				n++
			}
		}
	}
	return n
}

func (l *slot) free() bool { return l.owner == nil && !l.retired }

// Place puts the copy of b's instruction in a slot, unless it is there already, and
// returns the slot's address. direct says whether the thread may be continued in it
// rather than stepped. The error is [ErrNoSlot], that the instruction cannot run elsewhere, or says why
// the target's memory could not be written.
func (s *Scratch) Place(b *Breakpoint) (addr uint64, direct bool, err error) {
	l := b.slot
	if l == nil {
		if l, err = s.choose(b); err != nil {
			return 0, false, err
		}
		l.owner, l.plan, l.from, b.slot = b, b.plan, b.Addr, l
	}
	if !l.live {
		// The whole slot: an earlier copy may have been longer.
		p := append(l.copy.Code[:len(l.copy.Code):len(l.copy.Code)], l.orig[len(l.copy.Code):]...)
		if err := writeFull(s.table.mem, p, l.addr); err != nil {
			return 0, false, fmt.Errorf("scratch slot: %w", err)
		}
		l.live = true
	}
	return l.addr, l.copy.Direct, nil
}

// Direct is Place for a copy in which the thread can be continued, and from which it
// comes back by itself. It takes no slot for another kind of copy.
func (s *Scratch) Direct(b *Breakpoint) (addr uint64, ok bool) {
	if b.slot == nil {
		if b.bent {
			return 0, false
		}
		if l, err := s.choose(b); err != nil || !l.copy.Direct {
			b.bent = true // a better slot may become free, but seldom does
			return 0, false
		}
	}
	addr, direct, err := s.Place(b)
	return addr, direct && err == nil
}

// choose finds a free slot for b and makes the copy for it. It prefers a copy that
// the thread can be continued in, then one that needs no scratch register.
func (s *Scratch) choose(b *Breakpoint) (*slot, error) {
	var best *slot
	var bestCopy machine.Copy
	for _, a := range s.areas {
		l := a.free()
		if l == nil {
			continue
		}
		c, err := b.plan.Displaced(l.addr)
		if err != nil {
			return nil, err
		}
		if best == nil || better(c, bestCopy) {
			best, bestCopy = l, c
		}
	}
	if best == nil {
		return nil, ErrNoSlot
	}
	best.copy, best.live = bestCopy, false
	return best, nil
}

func better(c, than machine.Copy) bool {
	if c.Direct != than.Direct {
		return c.Direct
	}
	return c.Scratch < 0 && than.Scratch >= 0
}

func (a *area) free() *slot {
	for i := range a.slots {
		if a.slots[i].free() {
			return &a.slots[i]
		}
	}
	return nil
}

// at returns the slot that contains addr, or nil.
func (s *Scratch) at(addr uint64) *slot {
	for _, a := range s.areas {
		if addr-a.start < uint64(len(a.orig)) {
			return &a.slots[(addr-a.start)/SlotSize]
		}
	}
	return nil
}

// Origin returns the address in the program that corresponds to pc in a slot. ok
// is false if pc is in no slot. The si_addr of a SIGILL, SIGFPE, SIGTRAP or
// SIGBUS that a copy has raised must be replaced by that address.
func (s *Scratch) Origin(pc uint64) (addr uint64, ok bool) {
	l := s.at(pc)
	if l == nil || len(l.copy.Code) == 0 {
		return 0, false
	}
	if n := uint64(l.plan.Len()); pc >= l.addr+n {
		return l.from + n, true
	}
	return l.from, true
}

// Relocate moves a thread whose program counter is in a scratch slot to where
// it would be in the program. It has to be called at every stop of a thread that
// may be in a slot, and of a child that a displaced system call has created. For
// other threads it does nothing, and reports inSlot false. done is false if the
// instruction has not run. The thread is then at the breakpoint's address, which
// it has already hit, and must be moved off again without counting a hit.
func (s *Scratch) Relocate(r *machine.Regs, saved machine.Saved, m Memory) (inSlot, done bool) {
	l := s.at(r.PC())
	if l == nil || len(l.copy.Code) == 0 {
		return false, true
	}
	return true, l.plan.Exit(r, l.addr, saved, m)
}

// Exit is Plan.Exit for the instruction whose copy is in the slot. That may not be
// the instruction at the breakpoint any more.
func (s *Scratch) Exit(r *machine.Regs, addr uint64, saved machine.Saved, m Memory) (done bool) {
	l := s.at(addr)
	if l == nil {
		return true
	}
	return l.plan.Exit(r, l.addr, saved, m)
}

// retire takes the slot away from b.
func (s *Scratch) retire(b *Breakpoint) {
	if l := b.slot; l != nil {
		l.owner, l.retired, b.slot = nil, true, nil
	}
}

// settle frees the retired slots.
func (s *Scratch) settle() {
	for _, a := range s.areas {
		for i := range a.slots {
			a.slots[i].retired = false
		}
	}
}

// forget drops all areas: their memory is gone.
func (s *Scratch) forget() {
	for _, a := range s.areas {
		for i := range a.slots {
			if b := a.slots[i].owner; b != nil {
				b.slot = nil
			}
		}
	}
	s.areas = nil
}
