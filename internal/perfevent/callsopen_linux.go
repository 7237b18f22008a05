package perfevent

import "golang.org/x/sys/unix"

// openTime notes when the call has begun, and its group.
func (a *assembly) openTime(m callMaps) {
	a.jump(instruction{op: bpfJumpSet, dst: 7, imm: 1 << callTail}, "ends")
	a.onOpen(helperMapLookup, m)
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "new")
	a.left(m)
	a.mark("new")
	if m.away.on() && !m.grouped() {
		a.add(instruction{op: bpfMovImm, dst: 1})
		for _, off := range []int16{callGroup, callAmount, callKnown} { // the kernel wants them written
			a.add(instruction{op: bpfStoreDW, dst: 10, src: 1, off: off})
		}
	}
	timing{a, m}.begin()
	a.add(
		instruction{op: bpfCall, imm: helperTime},
		instruction{op: bpfStoreDW, dst: 10, src: 0, off: callFrom},
		instruction{op: bpfMovReg, dst: 3, src: 10},
		instruction{op: bpfAddImm, dst: 3, imm: callFrom},
		instruction{op: bpfMovImm, dst: 4})
	a.onOpen(helperMapUpdate, m)
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "out")
	a.tally(wordUntimed)
	a.jump(instruction{op: bpfJump}, "out")
}

// openValues notes the values of the call, and when it has begun. A call that is to be reported at once is not kept.
func (a *assembly) openValues(m callMaps, r *reports) {
	a.jump(instruction{op: bpfJumpSet, dst: 7, imm: 1 << callAtOnce}, "new")
	a.jump(instruction{op: bpfJumpSet, dst: 7, imm: 1 << callTail}, "ends")
	a.onOpen(helperMapLookup, m)
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "new")
	a.left(m)
	a.mark("new")
	a.add(
		instruction{op: bpfLoad64, dst: 3, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(m.template)}, instruction{},
		instruction{op: bpfMovImm, dst: 4})
	a.onOpen(helperMapUpdate, m)
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "fill")
	a.tally(wordUntimed)
	a.jump(instruction{op: bpfJump}, "out")
	a.mark("fill")
	a.onOpen(helperMapLookup, m)
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "out")
	a.add(instruction{op: bpfMovReg, dst: 9, src: 0})
	a.fill(m, r)
	if m.grouped() {
		for _, off := range []int16{callGroup, callAmount, callKnown} {
			a.add(
				instruction{op: bpfLoadDW, dst: 1, src: 10, off: off},
				instruction{op: bpfStoreDW, dst: 9, src: 1, off: off - callFrom})
		}
	}
	a.jump(instruction{op: bpfJumpSet, dst: 7, imm: 1 << callAtOnce}, "at once")
	timing{a, m}.begin()
	if m.away.on() {
		a.add(
			instruction{op: bpfLoadDW, dst: 1, src: 10, off: callAway},
			instruction{op: bpfStoreDW, dst: 9, src: 1, off: valuesAway},
			instruction{op: bpfLoadDW, dst: 1, src: 10, off: callThread},
			instruction{op: bpfStoreDW, dst: 9, src: 1, off: valuesBegunBy})
	}
	a.add(
		instruction{op: bpfCall, imm: helperTime},
		instruction{op: bpfStoreDW, dst: 9, src: 0})
	a.jump(instruction{op: bpfJump}, "out")
	a.mark("at once")
	a.add(
		instruction{op: bpfMovImm, dst: 1, imm: notKnown},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callCPU},
		instruction{op: bpfMovImm, dst: 1},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callLength})
	a.reportValues(m, r, true)
	a.onOpen(helperMapDelete, m)
	a.jump(instruction{op: bpfJumpSet, dst: 7, imm: 1 << callTail}, "ends")
	a.jump(instruction{op: bpfJump}, "out")
}

// left counts that the call in the value that register 0 points to will not end.
func (a *assembly) left(m callMaps) {
	if m.groups < 0 {
		a.tally(wordLeft)
		return
	}
	a.add(instruction{op: bpfLoadDW, dst: 1, src: 0, off: callGroup - callFrom})
	a.statistics(m, 2)
	a.add(
		instruction{op: bpfMovImm, dst: 1, imm: 1},
		instruction{op: bpfAtomic, dst: 2, src: 1, off: 8 * wordLeft})
}
