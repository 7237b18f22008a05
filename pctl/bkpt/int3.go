package bkpt

import "ptools/internal/ptrace"

// breakByte is the int3 instruction, breakLen its length. The program counter of a thread
// that has executed an int3 is breakLen behind the int3's address.
const (
	breakByte = 0xcc
	breakLen  = 1
)

// siKernel is the si_code of the SIGTRAP that int3 raises (SI_KERNEL). A
// SIGTRAP that was sent has another si_code.
const siKernel = 0x80

// int3 plants one-byte trap instructions in the text.
type int3 struct{}

// Lasting: only we remove an int3.
func (int3) Lasting() bool { return false }

// Plant verifies the text before it writes. A breakpoint whose text is gone, or has changed, becomes dead.
func (int3) Plant(t *Table, bs []*Breakpoint) error {
	return t.eachRun(t.mem, t.standing(bs), plantRun, textGone)
}

// Lift writes the original byte where the trap is still in the text that it was planted in.
func (int3) Lift(t *Table, bs []*Breakpoint) error {
	return t.eachRun(t.mem, t.standing(bs), liftRun, textGone)
}

func textGone(t *Table, b *Breakpoint) { t.end(b, ErrTextGone) }

// TrapCode is the si_code that distinguishes the SIGTRAP of the trap from one that was sent. It is needed where
// a thread can be behind the trap without having executed it: if the instruction is as short as the trap, or is
// not known any more (nil). Otherwise TrapCode is 0.
func (b *Breakpoint) TrapCode() int32 {
	if b != nil && b.plan.Len() > breakLen {
		return 0
	}
	return siKernel
}

// Trapped returns the breakpoint whose trap a thread has hit that has stopped with SIGTRAP, with the program
// counter after. The caller has to check the si_code by TrapCode. The thread must be set back to addr. If ok is
// true and the breakpoint is nil, the trap was lifted meanwhile. If ok is false, the signal is the target's own.
func (t *Table) Trapped(after uint64) (b *Breakpoint, addr uint64, ok bool) {
	addr = after - breakLen
	b, ok = t.TrapAt(addr)
	return b, addr, ok
}

// TrapAt is Trapped for a thread that has been set back to addr (AppendSetBacks).
func (t *Table) TrapAt(addr uint64) (b *Breakpoint, ok bool) {
	if b = t.byAddr[addr]; b != nil && b.trap == t.kinds[0] {
		return b, true
	}
	_, ok = t.lifted[addr]
	return nil, ok
}

// AppendSetBacks appends a rule for each trap in the text that threads have to be set back from, in
// ascending order.
func (t *Table) AppendSetBacks(s []ptrace.SetBack) []ptrace.SetBack {
	for _, b := range t.sorted {
		if b.armed && b.trap == t.kinds[0] {
			s = append(s, ptrace.SetBack{After: b.Addr + breakLen, To: b.Addr, Code: b.TrapCode()})
		}
	}
	return s
}

func plantRun(t *Table, run []*Breakpoint, raw []byte) error {
	t.changed()
	clean := append(t.shown[:0], raw...)
	t.shown = clean
	start := run[0].Addr
	t.Overlay(clean, start)
	n := 0
	for _, b := range run {
		if !b.refresh(t, clean[b.Addr-start:]) {
			continue
		}
		t.observer.Planting(b.Addr, breakByte, b.Orig())
		raw[b.Addr-start] = breakByte
		b.armed = true
		n++
	}
	if n == 0 {
		return nil
	}
	err := writeRun(t.mem, run, raw)
	if err != nil {
		for _, b := range run {
			b.armed = false
		}
	}
	return err
}

func liftRun(t *Table, run []*Breakpoint, raw []byte) error {
	t.changed()
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

// hide replaces traps by the original bytes in raw, which was read from the start
// of run, and reports whether there was a trap.
func hide(run []*Breakpoint, raw []byte) bool {
	found := false
	for _, b := range run {
		if i := b.Addr - run[0].Addr; raw[i] == breakByte && b.Orig() != breakByte {
			raw[i] = b.Orig()
			found = true
		}
	}
	return found
}
