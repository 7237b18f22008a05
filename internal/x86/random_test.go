package x86

import (
	"encoding/binary"
	"math/rand/v2"
)

// Dice makes random instructions, and registers with which they have an effect. The
// tests that run them are outside the package, because internal/ptrace imports it.
type Dice struct {
	*rand.Rand
	Code       uint64 // where the instructions are
	Data, Size uint64 // where their operands are
}

// A Sample is a random instruction.
type Sample struct{ in inst }

// Code returns the bytes of the instruction.
func (s *Sample) Code() []byte { return s.in.code }

// Is reports whether the opcode is op of the one-byte map.
func (s *Sample) Is(op byte) bool { return s.in.is(op) }

// Stores87 reports whether the instruction is fnstenv or fnsave: they store the
// address of the last x87 instruction.
func (s *Sample) Stores87() bool {
	return (s.in.is(0xd9) || s.in.is(0xdd)) && s.in.ext() == 6 && s.in.mod() != 3
}

// Sample returns an instruction of form f. It reports false if the random bytes are none.
func (d Dice) Sample(f Form) (Sample, bool) {
	in, err := decode(d.instruction(f))
	if err != nil {
		return Sample{}, false
	}
	d.aim(&in)
	return Sample{in}, true
}

func (d Dice) one(n int) bool { return d.IntN(n) == 0 }

// Form is the fixed part of a random instruction: all except prefixes and
// operands.
type Form struct {
	enc encoding
	mp  uint8
	op  byte
}

// Share returns how many instructions of the form are made, if the average is n: more of the common forms.
func (f Form) Share(n int) int {
	switch {
	case f.enc != legacy:
		return (n + 7) / 8
	case f.mp == mapOne:
		return 4 * n
	}
	return n
}

// Forms returns all opcodes whose copies can run. Opcodes are left out if their
// result differs each time, or depends on the address where they ran.
func Forms() []Form {
	var all []Form
	for mp := uint8(mapOne); mp <= map0F3A; mp++ {
		for op := range 256 {
			f := Form{legacy, mp, byte(op)}
			if !f.unstable() {
				all = append(all, f)
			}
			if mp > 0 {
				all = append(all, Form{vex, mp, byte(op)}, Form{evex, mp, byte(op)})
			}
		}
	}
	return all
}

// unstable reports whether the form is left out: prefixes and escapes, segment
// registers (an interrupt clears null selectors), tables of the processor that a
// thread is on, clocks, cpuid, and xsave and its kind (x87 pointers).
func (f Form) unstable() bool {
	switch f.mp {
	case mapOne:
		return oneByte[f.op] == 'p' || oneByte[f.op] == 'x' || f.op == 0x8e
	case map0F:
		switch f.op {
		case 0x00, 0x01, 0x02, 0x03, 0x05, 0x31, 0x33, 0xa1, 0xa2, 0xa9, 0xae, 0xb2, 0xb4, 0xb5, 0xc7:
			return true
		}
		return twoByte[f.op] == 'p' || twoByte[f.op] == 'x'
	}
	return false
}

// instruction returns random bytes that start with an instruction of form f.
func (d Dice) instruction(f Form) []byte {
	var b []byte
	if f.enc == legacy {
		for _, p := range [...]struct {
			c    byte
			rare int
		}{{0x66, 4}, {0x64, 12}, {0x65, 12}, {0x2e, 20}, {0x3e, 20}, {0xf3, 8}, {0xf2, 12}, {0x67, 24}, {0xf0, 40}} {
			if d.one(p.rare) {
				b = append(b, p.c)
			}
		}
		if d.one(2) {
			b = append(b, 0x40|byte(d.IntN(16)))
		}
		b = append(b, [][]byte{nil, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}}[f.mp]...)
	}
	w := byte(d.Uint32())
	switch {
	case f.enc == vex && f.mp == 1 && d.one(2):
		b = append(b, 0xc5, w)
	case f.enc == vex:
		b = append(b, 0xc4, byte(d.Uint32())&0xe0|f.mp, w)
	case f.enc == evex:
		b = append(b, 0x62, byte(d.Uint32())&0xf0|f.mp, w|4, byte(d.Uint32()))
	}
	b = append(b, f.op)
	at := len(b)
	for len(b) < maxLen+1 {
		b = append(b, byte(d.Uint32()))
	}
	if d.one(6) {
		b[at] = b[at]&0x38 | 5 // RIP-relative
	}
	return b
}

// aim makes a RIP-relative operand be in the data.
func (d Dice) aim(in *inst) {
	if in.ripRel() {
		in.disp = int32(d.pointer() - d.Code - uint64(len(in.code)))
		binary.LittleEndian.PutUint32(in.code[in.dispPos:], uint32(in.disp))
	}
}

// pointer returns an address in the data, sometimes on its edges.
func (d Dice) pointer() uint64 {
	switch d.IntN(20) {
	case 0:
		return d.Data - uint64(d.IntN(16))
	case 1:
		return d.Data + d.Size - uint64(d.IntN(16))
	case 2:
		return d.Data + pageSize - uint64(d.IntN(16))
	case 3, 4, 5, 6, 7, 8, 9:
		return d.Data + d.Uint64N(d.Size/8)*8
	}
	return d.Data + d.Uint64N(d.Size)
}

// Number returns a random value, often one at an edge.
func (d Dice) Number() uint64 {
	switch d.IntN(8) {
	case 0:
		return uint64(d.IntN(3)) - 1
	case 1:
		return 1 << d.IntN(64)
	case 2:
		return 1<<d.IntN(64) - 1
	case 3:
		return uint64(d.IntN(256))
	case 4:
		return d.pointer()
	case 5:
		return d.Uint64() >> 17 // a user address
	}
	return d.Uint64()
}

// Registers returns base with random registers, such that the memory operand of s
// is mostly in the data.
func (d Dice) Registers(s *Sample, base Regs) Regs {
	r := base
	for n := range uint8(16) {
		*r.gpr(n) = d.Number()
	}
	r.Rsp, r.Rbp = d.pointer(), d.pointer()
	r.Eflags = base.Eflags&^(flagsArith|flagDF) | d.Uint64()&(flagsArith|flagDF)
	r.FsBase, r.GsBase = 0, 0 // not the lab's own variables
	if d.one(3) {
		r.FsBase, r.GsBase = d.Uint64N(d.Size), d.Uint64N(d.Size)
	}
	if s.in.inMemory() {
		d.reach(&s.in, &r)
	}
	r.Rip = d.Code
	return r
}

// reach changes one of the registers of the memory operand, so that its address is in the data.
func (d Dice) reach(in *inst, r *Regs) {
	e := in.address(d.Code + uint64(len(in.code)))
	to := d.pointer() - e.linear(r)
	switch {
	case e.base == rsp && e.index != noReg:
		*r.gpr(e.index) += uint64(int64(to) >> e.shift) // the stack pointer stays a user address
	case e.base != noReg && e.base != e.index:
		*r.gpr(e.base) += to
	case e.base == noReg && e.index != noReg:
		*r.gpr(e.index) += uint64(int64(to) >> e.shift)
	}
}
