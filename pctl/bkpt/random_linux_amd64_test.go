package bkpt

import (
	"encoding/binary"
	"math/rand/v2"

	"ptools/internal/ptrace"
)

// dice makes random instructions, and registers under which they have something
// to do.
type dice struct{ *rand.Rand }

func (d dice) one(n int) bool { return d.IntN(n) == 0 }

// form is what a random instruction is made of: everything but prefixes and
// operands.
type form struct {
	enc encoding
	mp  uint8
	op  byte
}

// forms returns all opcodes whose copies can run, without those whose result is
// another each time or tells where they ran.
func forms() []form {
	var all []form
	for mp := uint8(mapOne); mp <= map0F3A; mp++ {
		for op := range 256 {
			f := form{legacy, mp, byte(op)}
			if !f.unstable() {
				all = append(all, f)
			}
			if mp > 0 {
				all = append(all, form{vex, mp, byte(op)}, form{evex, mp, byte(op)})
			}
		}
	}
	return all
}

// unstable: prefixes and escapes, segment registers (an interrupt clears null
// selectors), tables of the processor a thread is on, clocks, cpuid, xsave and
// its kind (x87 pointers).
func (f form) unstable() bool {
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
func (d dice) instruction(f form) []byte {
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
	for len(b) < codeSize {
		b = append(b, byte(d.Uint32()))
	}
	if d.one(6) {
		b[at] = b[at]&0x38 | 5 // RIP-relative
	}
	return b
}

// aim lets a RIP-relative operand at addr lie in the data.
func (d dice) aim(in *insn, addr uint64) {
	if in.ripRel() && in.mod() != 3 && in.dispPos > 0 {
		to := d.pointer()
		in.disp = int32(to - addr - uint64(len(in.code)))
		binary.LittleEndian.PutUint32(in.code[in.dispPos:], uint32(in.disp))
	}
}

// pointer returns an address in the data, sometimes on its edges.
func (d dice) pointer() uint64 {
	switch d.IntN(20) {
	case 0:
		return labData - uint64(d.IntN(16))
	case 1:
		return labData + labHalf - uint64(d.IntN(16))
	case 2:
		return labData + pageSize - uint64(d.IntN(16))
	case 3, 4, 5, 6, 7, 8, 9:
		return labData + uint64(d.IntN(labHalf/8))*8
	}
	return labData + uint64(d.IntN(labHalf))
}

// number returns a value with edges in it.
func (d dice) number() uint64 {
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

// registers returns random registers on top of base, such that the memory
// operand of in mostly lies in the data.
func (d dice) registers(in *insn, base ptrace.Regs) ptrace.Regs {
	r := base
	for n := range uint8(16) {
		*gpr(&r, n) = d.number()
	}
	r.Rsp, r.Rbp = d.pointer(), d.pointer()
	r.Eflags = base.Eflags&^(flagsArith|flagDF) | d.Uint64()&(flagsArith|flagDF)
	r.FsBase, r.GsBase = 0, 0 // not the lab's own variables
	if d.one(3) {
		r.FsBase, r.GsBase = uint64(d.IntN(labHalf)), uint64(d.IntN(labHalf))
	}
	if in.hasModRM && in.mod() != 3 {
		d.reach(in, &r)
	}
	r.Rip = labCode
	return r
}

// reach solves the operand's address for one of its registers.
func (d dice) reach(in *insn, r *ptrace.Regs) {
	e := in.address(labCode + uint64(len(in.code)))
	to := d.pointer() - e.linear(r)
	switch {
	case e.base != noReg && e.base != e.index:
		*gpr(r, e.base) += to
	case e.base == noReg && e.index != noReg:
		*gpr(r, e.index) += uint64(int64(to) >> e.shift)
	}
}
