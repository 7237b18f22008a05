package perfevent

import (
	"encoding/binary"
	"strconv"
)

// Opcodes of comparisons of two registers.
var jumpsIf = map[Op][2]uint8{ // unsigned, signed
	Equal:        {0x1d, 0x1d},
	NotEqual:     {0x5d, 0x5d},
	Less:         {0xad, 0xcd},
	LessEqual:    {0xbd, 0xdd},
	Greater:      {0x2d, 0x6d},
	GreaterEqual: {0x3d, 0x7d},
}

// opposite of each comparison.
var opposite = map[Op]Op{Equal: NotEqual, NotEqual: Equal, Less: GreaterEqual, GreaterEqual: Less, Greater: LessEqual, LessEqual: Greater}

// unless goes on if a condition is met. It jumps to the label no if not, and to fail if memory cannot be read. labels counts those that are
// made up.
func (a *assembly) unless(c *Condition, no, fail string, labels *int) {
	*labels++
	own := "test " + strconv.Itoa(*labels)
	switch c.Op {
	case And:
		a.unless(c.A, no, fail, labels)
		a.unless(c.B, no, fail, labels)
	case Or:
		second := own + " second"
		a.unless(c.A, second, fail, labels)
		a.jump(instruction{op: bpfJump}, own)
		a.mark(second)
		a.unless(c.B, no, fail, labels)
		a.mark(own)
	case Not:
		a.unless(c.A, own, fail, labels)
		a.jump(instruction{op: bpfJump}, no)
		a.mark(own)
	default:
		if c.Text == nil {
			a.compare(c, no, fail)
		} else if c.Op == NotEqual {
			a.compareText(c, own, fail)
			a.jump(instruction{op: bpfJump}, no)
			a.mark(own)
		} else {
			a.compareText(c, no, fail)
		}
	}
}

// compare jumps to a label if a comparison of numbers does not hold.
func (a *assembly) compare(c *Condition, no, fail string) {
	a.operand(&c.Left, fail)
	if c.Right != nil {
		a.add(instruction{op: bpfStoreDW, dst: 10, src: 1, off: callLeft})
		a.operand(c.Right, fail)
		a.add(
			instruction{op: bpfMovReg, dst: 2, src: 1},
			instruction{op: bpfLoadDW, dst: 1, src: 10, off: callLeft})
	} else {
		a.add(instruction{op: bpfLoad64, dst: 2, imm: int32(c.Number)}, instruction{imm: int32(c.Number >> 32)})
	}
	signed := 0
	if c.Signed {
		signed = 1
	}
	a.jump(instruction{op: jumpsIf[opposite[c.Op]][signed], dst: 1, src: 2}, no)
}

// operand leaves a number in register 1.
func (a *assembly) operand(o *Operand, fail string) {
	if o.Word < WordRegs {
		a.add(instruction{op: bpfLoadDW, dst: 1, src: 6, off: int16(8 * o.Word)})
	} else {
		a.slot(1)
		a.load(int32(8+8*(o.Word-WordStack)), 8, fail)
	}
	for i, off := range o.Loads {
		size := int32(8)
		if i == len(o.Loads)-1 && o.Shift == 0 {
			size = int32(o.Size)
		}
		a.load(off, size, fail)
	}
	if o.Shift > 0 {
		a.add(instruction{op: bpfRightImm, dst: 1, imm: o.Shift})
	}
	if unused := 64 - 8*int32(o.Size); unused > 0 {
		right := uint8(bpfRightImm)
		if o.Signed {
			right = bpfSignRight
		}
		a.add(
			instruction{op: bpfLeftImm, dst: 1, imm: unused},
			instruction{op: right, dst: 1, imm: unused})
	}
	switch {
	case o.Modulo == 0:
	case o.Signed:
		a.add(
			instruction{op: bpfJumpNoSign, dst: 1, off: 4},
			instruction{op: bpfNegate, dst: 1},
			instruction{op: bpfModuloImm, dst: 1, imm: o.Modulo},
			instruction{op: bpfNegate, dst: 1},
			instruction{op: bpfJump, off: 1},
			instruction{op: bpfModuloImm, dst: 1, imm: o.Modulo})
	default:
		a.add(instruction{op: bpfModuloImm, dst: 1, imm: o.Modulo})
	}
}

// load reads some bytes at an offset from the address in register 1 into that.
func (a *assembly) load(off, size int32, fail string) {
	a.add(
		instruction{op: bpfMovReg, dst: 3, src: 1},
		instruction{op: bpfAddImm, dst: 3, imm: off},
		instruction{op: bpfMovImm, dst: 1},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callLoaded},
		instruction{op: bpfMovReg, dst: 1, src: 10},
		instruction{op: bpfAddImm, dst: 1, imm: callLoaded},
		instruction{op: bpfMovImm, dst: 2, imm: size},
		instruction{op: bpfCall, imm: helperReadUser})
	a.jump(instruction{op: bpfJumpNe, dst: 0}, fail)
	a.add(instruction{op: bpfLoadDW, dst: 1, src: 10, off: callLoaded})
}

// compareText jumps to a label if a text differs.
func (a *assembly) compareText(c *Condition, no, fail string) {
	n := len(c.Text.Text)
	if c.Text.Len != nil {
		a.operand(c.Text.Len, fail)
		a.jump(instruction{op: bpfJumpNe, dst: 1, imm: int32(n)}, no)
		if n == 0 {
			return
		}
	}
	a.operand(&c.Left, fail)
	a.add(instruction{op: bpfMovReg, dst: 3, src: 1})
	a.clearText()
	if c.Text.Len != nil {
		a.add(
			instruction{op: bpfMovImm, dst: 2, imm: int32(n)},
			instruction{op: bpfCall, imm: helperReadUser})
		a.jump(instruction{op: bpfJumpNe, dst: 0}, fail)
	} else {
		// One byte more than the text has, with its end: a longer one is seen by its length.
		a.readText(int32(n + 2))
		a.jump(instruction{op: bpfJumpSignLT, dst: 0, imm: 0}, fail)
		a.jump(instruction{op: bpfJumpNe, dst: 0, imm: int32(n + 1)}, no)
	}
	want := append([]byte(c.Text.Text), make([]byte, 8)...)
	for at := 0; at < n; at += 8 {
		word := binary.LittleEndian.Uint64(want[at:])
		a.add(
			instruction{op: bpfLoadDW, dst: 1, src: 10, off: callText + int16(at)},
			instruction{op: bpfLoad64, dst: 2, imm: int32(word)}, instruction{imm: int32(word >> 32)})
		a.jump(instruction{op: bpfJumpNeReg, dst: 1, src: 2}, no)
	}
}

// clearText clears the variable for a text, and leaves its address in register 1.
func (a *assembly) clearText() {
	a.add(instruction{op: bpfMovImm, dst: 1})
	for off := int16(callText); off < callText+72; off += 8 {
		a.add(instruction{op: bpfStoreDW, dst: 10, src: 1, off: off})
	}
	a.add(
		instruction{op: bpfMovReg, dst: 1, src: 10},
		instruction{op: bpfAddImm, dst: 1, imm: int32(callText)})
}
