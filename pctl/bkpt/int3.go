package bkpt

import "errors"

// breakByte is the int3 instruction.
const breakByte = 0xcc

// siKernel is the si_code of the SIGTRAP that int3 raises (SI_KERNEL); a
// SIGTRAP that somebody sent has another.
const siKernel = 0x80

// int3 plants one-byte trap instructions in the text.
type int3 struct{}

// Recognise: int3 leaves the program counter behind itself.
func (int3) Recognise(s Stop) (addr uint64, ok bool) {
	return s.PC - 1, s.Code == siKernel
}

// Lasting: nobody but us takes an int3 out again.
func (int3) Lasting() bool { return false }

// Plant verifies before it writes: a breakpoint whose text is gone, or another, is dead.
func (int3) Plant(t *Table, bs []*Breakpoint) error {
	var errs []error
	for run := range t.windows(t.standing(bs)) {
		if err := t.plantRun(run); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Lift writes the original byte wherever the trap is still there, in the text that it was planted in.
func (int3) Lift(t *Table, bs []*Breakpoint) error {
	var errs []error
	for run := range t.windows(t.standing(bs)) {
		if err := t.liftRun(run); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (t *Table) plantRun(run []*Breakpoint) error {
	t.changed()
	raw, err := t.readRun(t.mem, run)
	switch {
	case err != nil && len(run) == 1:
		t.end(run[0], ErrTextGone)
		return nil
	case err != nil:
		return apart(run, t.plantRun)
	}
	clean := append(t.shown[:0], raw...)
	t.shown = clean
	start := run[0].Addr
	t.Overlay(clean, start)
	n := 0
	for _, b := range run {
		if !b.refresh(t, clean[b.Addr-start:]) {
			continue
		}
		t.observer.Planting(b.Addr, breakByte, b.orig())
		raw[b.Addr-start] = breakByte
		b.armed = true
		n++
	}
	if n == 0 {
		return nil
	}
	if err := writeRun(t.mem, run, raw); err != nil {
		for _, b := range run {
			b.armed = false
		}
		return err
	}
	return nil
}

func (t *Table) liftRun(run []*Breakpoint) error {
	t.changed()
	raw, err := t.readRun(t.mem, run)
	switch {
	case err != nil && len(run) == 1:
		t.end(run[0], ErrTextGone)
		return nil
	case err != nil:
		return apart(run, t.liftRun)
	}
	if hide(run, raw) {
		if err := writeRun(t.mem, run, raw); err != nil {
			return err
		}
	}
	for _, b := range run {
		b.armed = false
	}
	return nil
}

// hide puts the original bytes in raw, which was read from the start of run,
// wherever a trap is, and reports whether there was one.
func hide(run []*Breakpoint, raw []byte) bool {
	found := false
	for _, b := range run {
		if i := b.Addr - run[0].Addr; raw[i] == breakByte && b.orig() != breakByte {
			raw[i] = b.orig()
			found = true
		}
	}
	return found
}

// apart does f with each breakpoint of a run that could not be handled as one.
func apart(run []*Breakpoint, f func([]*Breakpoint) error) error {
	var errs []error
	for i := range run {
		errs = append(errs, f(run[i:i+1]))
	}
	return errors.Join(errs...)
}
