package perfevent

// maximumRounds is how often the maximum is tried to be set. Each failure means that another thread has raised it at the same time.
const maximumRounds = 8

// maximum raises the function's maximum to the duration in register 9.
func (a *assembly) maximum() {
	for range maximumRounds {
		a.add(instruction{op: bpfLoadDW, dst: 0, src: 8, off: 8 * wordMax})
		a.jump(instruction{op: bpfJumpGEReg, dst: 0, src: 9}, "highest")
		a.add(instruction{op: bpfAtomic, dst: 8, src: 9, off: 8 * wordMax, imm: bpfExchange})
	}
	a.mark("highest")
}

// bucket counts the duration in register 9 in its class (BucketStart).
func (a *assembly) bucket() {
	a.add(
		instruction{op: bpfMovReg, dst: 1, src: 9},
		instruction{op: bpfMovReg, dst: 2, src: 9})
	a.jump(instruction{op: bpfJumpGT, dst: 9, imm: 3}, "large")
	a.jump(instruction{op: bpfJump}, "class")
	a.mark("large")
	a.add(instruction{op: bpfMovImm, dst: 2})
	for _, n := range []int32{32, 16, 8, 4, 2, 1} { // register 2 becomes the number of the highest bit
		a.add(
			instruction{op: bpfMovReg, dst: 3, src: 1},
			instruction{op: bpfRightImm, dst: 3, imm: n},
			instruction{op: bpfJumpEq, dst: 3, off: 2},
			instruction{op: bpfAddImm, dst: 2, imm: n},
			instruction{op: bpfMovReg, dst: 1, src: 3})
	}
	a.add(
		instruction{op: bpfAddImm, dst: 2, imm: -2},
		instruction{op: bpfAndImm, dst: 2, imm: 63},
		instruction{op: bpfMovReg, dst: 1, src: 9},
		instruction{op: bpfRightReg, dst: 1, src: 2},
		instruction{op: bpfAndImm, dst: 1, imm: 3},
		instruction{op: bpfAddImm, dst: 2, imm: 1},
		instruction{op: bpfLeftImm, dst: 2, imm: 2},
		instruction{op: bpfAddReg, dst: 2, src: 1})
	a.mark("class")
	a.add(
		instruction{op: bpfJumpLE, dst: 2, off: 1, imm: CallBuckets - 1},
		instruction{op: bpfMovImm, dst: 2, imm: CallBuckets - 1},
		instruction{op: bpfLeftImm, dst: 2, imm: 3},
		instruction{op: bpfMovReg, dst: 3, src: 8},
		instruction{op: bpfAddReg, dst: 3, src: 2},
		instruction{op: bpfMovImm, dst: 1, imm: 1},
		instruction{op: bpfAtomic, dst: 3, src: 1, off: 8 * wordBuckets})
}
