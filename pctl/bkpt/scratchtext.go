package bkpt

import (
	"bytes"
	"errors"
)

// restore writes the original bytes of all live slots back.
func (s *Scratch) restore(mem Memory) error {
	var errs []error
	for _, a := range s.areas {
		lo, hi := a.used(func(l *slot) bool { return l.live })
		if lo == hi {
			continue
		}
		if err := a.clean(mem, lo, hi); err != nil {
			errs = append(errs, err)
			continue
		}
		for i := lo; i < hi; i++ {
			a.slots[i].live = false
		}
	}
	return errors.Join(errs...)
}

// clean restores the original bytes of all slots that were ever written, in a
// child's memory.
func (s *Scratch) clean(child Memory) error {
	var errs []error
	for _, a := range s.areas {
		lo, hi := a.used(func(l *slot) bool { return len(l.copy.Code) > 0 })
		if lo < hi {
			errs = append(errs, a.clean(child, lo, hi))
		}
	}
	return errors.Join(errs...)
}

// used returns the range of slots that includes all for which f is true.
func (a *area) used(f func(*slot) bool) (lo, hi int) {
	for i := range a.slots {
		if !f(&a.slots[i]) {
			continue
		}
		if hi == 0 {
			lo = i
		}
		hi = i + 1
	}
	return lo, hi
}

// clean replaces the copies in slots lo to hi by the original bytes. Bytes that
// are not ours stay. An area that cannot be read is gone, with all copies in it.
func (a *area) clean(mem Memory, lo, hi int) error {
	p := make([]byte, (hi-lo)*SlotSize)
	start := a.slots[lo].addr
	if readFull(mem, p, start) != nil {
		return nil
	}
	changed := false
	for i := lo; i < hi; i++ {
		code, q := a.slots[i].copy.Code, p[(i-lo)*SlotSize:]
		if len(code) > 0 && bytes.HasPrefix(q, code) {
			copy(q, a.slots[i].orig[:len(code)])
			changed = true
		}
	}
	if !changed {
		return nil
	}
	return writeFull(mem, p, start)
}

// overlay shows the original bytes of live slots in p, read at addr.
func (s *Scratch) overlay(p []byte, addr uint64) {
	for l, off := range s.live(addr, addr+uint64(len(p))) {
		for i := range l.copy.Code {
			if j := off + i; j >= 0 && j < len(p) {
				p[j] = l.orig[i]
			}
		}
	}
}

// write makes what a client writes to the areas their original bytes, and replaces
// it in p by the copies that are there.
func (s *Scratch) write(p []byte, addr uint64) {
	for _, a := range s.areas {
		lo, hi := max(addr, a.start), min(addr+uint64(len(p)), a.start+uint64(len(a.orig)))
		if lo < hi {
			copy(a.orig[lo-a.start:hi-a.start], p[lo-addr:])
		}
	}
	for l, off := range s.live(addr, addr+uint64(len(p))) {
		for i, c := range l.copy.Code {
			if j := off + i; j >= 0 && j < len(p) {
				p[j] = c
			}
		}
	}
}

// live yields the live slots that overlap [addr, end), with their offsets from
// addr.
func (s *Scratch) live(addr, end uint64) func(func(*slot, int) bool) {
	return func(yield func(*slot, int) bool) {
		for _, a := range s.areas {
			if a.start >= end || a.start+uint64(len(a.orig)) <= addr {
				continue
			}
			for i := range a.slots {
				l := &a.slots[i]
				if l.live && l.addr < end && l.addr+SlotSize > addr && !yield(l, int(int64(l.addr-addr))) {
					return
				}
			}
		}
	}
}
