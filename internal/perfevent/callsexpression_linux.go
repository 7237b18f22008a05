package perfevent

// number leaves the value of an expression in register 1. It goes on at a label if memory cannot be read, or the value is
// beyond 64 bits with a sign. depth is the number of intermediate results that are kept.
func (a *assembly) number(e *Expression, depth int16, fail string) {
	switch e.Op {
	case Number:
		a.add(instruction{op: bpfLoad64, dst: 1, imm: int32(e.Number)}, instruction{imm: int32(e.Number >> 32)})
		return
	case Value:
		a.operand(&e.Value, fail)
		if e.Value.Size == 8 && !e.Value.Signed {
			a.jump(instruction{op: bpfJumpSignLT, dst: 1}, fail)
		}
		return
	}
	term := callTerms + 8*depth
	a.number(e.A, depth, fail)
	a.add(instruction{op: bpfStoreDW, dst: 10, src: 1, off: term})
	a.number(e.B, depth+1, fail)
	a.add(
		instruction{op: bpfMovReg, dst: 2, src: 1},
		instruction{op: bpfLoadDW, dst: 1, src: 10, off: term})
	if e.Op == Multiply {
		a.product(fail)
		return
	}
	// A sum is wrong if its sign is that of neither operand; a difference, if it is not the sign of the first, and the operands' differ.
	op, other := uint8(bpfAddReg), uint8(3)
	if e.Op == Subtract {
		op, other = bpfSubReg, 1
	}
	a.add(
		instruction{op: bpfMovReg, dst: 3, src: 1},
		instruction{op: op, dst: 3, src: 2},
		instruction{op: bpfMovReg, dst: 4, src: 1},
		instruction{op: bpfXorReg, dst: 4, src: 3},
		instruction{op: bpfXorReg, dst: 2, src: other},
		instruction{op: bpfAndReg, dst: 4, src: 2},
		instruction{op: bpfMovReg, dst: 1, src: 3})
	a.jump(instruction{op: bpfJumpSignLT, dst: 4}, fail)
}

// product multiplies registers 1 and 2. It is right if the product of the absolute values, which has no sign, can be divided again.
func (a *assembly) product(fail string) {
	for i := range uint8(2) {
		a.add(
			instruction{op: bpfMovReg, dst: 3 + i, src: 1 + i},
			instruction{op: bpfJumpNoSign, dst: 3 + i, off: 1},
			instruction{op: bpfNegate, dst: 3 + i})
	}
	a.add(
		instruction{op: bpfMulReg, dst: 1, src: 2},
		instruction{op: bpfMovReg, dst: 5, src: 3},
		instruction{op: bpfMulReg, dst: 5, src: 4})
	a.jump(instruction{op: bpfJumpSignLT, dst: 5}, fail)
	a.jump(instruction{op: bpfJumpEq, dst: 3}, "product")
	a.add(instruction{op: bpfDivReg, dst: 5, src: 3})
	a.jump(instruction{op: bpfJumpNeReg, dst: 5, src: 4}, fail)
	a.mark("product")
}
