package perfevent

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The value of a call that has not ended is a CallValues, where those are reported. The program of the entry fills it in, that of the
// return completes it and writes it to the ring. No other call has the same key, so no other thread does that at the same time.

// Offsets in CallValues.
const (
	valuesFunction = int16(unsafe.Offsetof(CallValues{}.function))
	valuesThread   = int16(unsafe.Offsetof(CallValues{}.thread))
	valuesLength   = int16(unsafe.Offsetof(CallValues{}.length))
	valuesEnd      = int16(unsafe.Offsetof(CallValues{}.end))
	valuesAway     = int16(unsafe.Offsetof(CallValues{}.away))
	valuesBegunBy  = int16(unsafe.Offsetof(CallValues{}.begunBy))
	valuesCPU      = int16(unsafe.Offsetof(CallValues{}.cpu))
	valuesFlags    = int16(unsafe.Offsetof(CallValues{}.flags))
	valuesNumber   = int32(unsafe.Offsetof(CallValues{}.goroutine))
	valuesStatus   = int16(unsafe.Offsetof(CallValues{}.Status))
	valuesWords    = int16(unsafe.Offsetof(CallValues{}.Words))
	valuesResult   = int16(unsafe.Offsetof(CallValues{}.Result))
	valuesTexts    = int32(unsafe.Offsetof(CallValues{}.Texts))
	valuesSize     = int32(unsafe.Sizeof(CallValues{}))
	textRoom       = int32(unsafe.Sizeof(CallValues{}.Texts[0]))
	copiesSize     = int32(unsafe.Sizeof(Copies{}))
)

// The copy of the stack, behind the values in a record: the number of pieces that were read, and the pieces. The first one has
// what the stack pointer points to. A piece does not cross the end of a page: the next page may not be there, at the end of a
// stack, or where the kernel has left a gap of random length above the first thread's frames.
const (
	stackPiece = 1 << 10
	stackAt    = valuesSize + 8
)

// pieces returns how many pieces are copied.
func (r *reports) pieces() int32 {
	size := r.StackSize
	if size == 0 {
		size = UsualStack
	}
	return int32((min(size, MostStack) + stackPiece - 1) / stackPiece)
}

// stackRecord is the size of a record with a stack.
func (r *reports) stackRecord() int32 { return stackAt + r.pieces()*stackPiece }

// Helper functions and opcodes of these programs.
const (
	helperReadUserText = 114
	helperRingReserve  = 131
	helperRingSubmit   = 132

	bpfStoreB     = 0x73
	bpfJumpSignLT = 0xc5 // than an immediate
)

// keep copies the registers of a thread to words of the values that register 9 points to.
func (a *assembly) keep(to int16) {
	for i := range int16(WordRegs) {
		a.add(
			instruction{op: bpfLoadDW, dst: 1, src: 6, off: 8 * i},
			instruction{op: bpfStoreDW, dst: 9, src: 1, off: to + 8*i})
	}
}

// slot leaves the address of the return address in a register; 2 is used too.
func (a *assembly) slot(reg uint8) {
	a.add(
		instruction{op: bpfMovReg, dst: reg, src: 7},
		instruction{op: bpfSignRight, dst: reg, imm: callSlot},
		instruction{op: bpfLoadDW, dst: 2, src: 6, off: ctxSP},
		instruction{op: bpfAddReg, dst: reg, src: 2})
}

// fill fills in what is known when the call begins. Register 9 points to the values.
func (a *assembly) fill(m callMaps, r *reports) {
	a.keep(valuesWords)
	a.slot(3)
	a.add(
		instruction{op: bpfStoreDW, dst: 9, src: 3, off: valuesWords + 8*WordSlot},
		instruction{op: bpfAddImm, dst: 3, imm: 8},
		instruction{op: bpfMovReg, dst: 1, src: 9},
		instruction{op: bpfAddImm, dst: 1, imm: int32(valuesWords) + 8*WordStack},
		instruction{op: bpfMovImm, dst: 2, imm: 8 * (WordLoads - WordStack)},
		instruction{op: bpfCall, imm: helperReadUser})
	a.jump(instruction{op: bpfJumpNe, dst: 0}, "no stack")
	a.add(
		instruction{op: bpfMovImm, dst: 1, imm: 1},
		instruction{op: bpfStoreB, dst: 9, src: 1, off: valuesStatus + StatusStack})
	a.mark("no stack")
	a.copies(m)
	if r.Caller == ByGoroutine {
		a.copy(CopyGoroutine, int32(valuesWords), valuesNumber, true)
	}
	for i := range int16(EntryLoads) {
		a.copy(i, int32(valuesWords), int32(valuesWords)+8*(WordLoads+2*int32(i)), true)
	}
	for i := range int16(EntryTexts) {
		a.copy(FirstEntryText+i, int32(valuesWords), valuesTexts+textRoom*int32(i), false)
	}
}

// fillResult fills in what is known when the call ends.
func (a *assembly) fillResult(m callMaps) {
	a.copies(m)
	for i := range int16(ReturnLoads) {
		a.copy(FirstReturnLoad+i, int32(valuesResult), int32(valuesResult)+8*(ResultLoads+2*int32(i)), true)
	}
	for i := range int16(ReturnTexts) {
		a.copy(FirstReturnText+i, int32(valuesResult), valuesTexts+textRoom*int32(EntryTexts+i), false)
	}
}

// copies keeps the address of what is copied for the function.
func (a *assembly) copies(m callMaps) {
	a.add(
		instruction{op: bpfLoadW, dst: 1, src: 10, off: callKey})
	a.jump(instruction{op: bpfJumpGE, dst: 1, imm: int32(m.functions)}, "out")
	a.add(
		instruction{op: bpfMulImm, dst: 1, imm: copiesSize},
		instruction{op: bpfLoad64, dst: 2, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(m.copies)}, instruction{},
		instruction{op: bpfAddReg, dst: 2, src: 1},
		instruction{op: bpfStoreDW, dst: 10, src: 2, off: callCopies})
}

// copy makes copy n. The word that it is about is one of those at an offset of the values.
func (a *assembly) copy(n int16, words, to int32, load bool) {
	a.add(
		instruction{op: bpfLoadDW, dst: 1, src: 10, off: callCopies},
		instruction{op: bpfLoadDW, dst: 5, src: 1, off: 8 * n})
	a.jump(instruction{op: bpfJumpEq, dst: 5}, "copied")
	a.word(3, 8, words)
	a.add(
		instruction{op: bpfMovReg, dst: 2, src: 5},
		instruction{op: bpfSignRight, dst: 2, imm: 32},
		instruction{op: bpfAddReg, dst: 3, src: 2},
		instruction{op: bpfMovReg, dst: 1, src: 9},
		instruction{op: bpfAddImm, dst: 1, imm: to})
	if load {
		a.add(
			instruction{op: bpfMovImm, dst: 2, imm: 16},
			instruction{op: bpfCall, imm: helperReadUser})
		a.jump(instruction{op: bpfJumpNe, dst: 0}, "copied")
	} else {
		a.add(
			instruction{op: bpfMovReg, dst: 4, src: 5},
			instruction{op: bpfAndImm, dst: 4, imm: 0xff})
		a.jump(instruction{op: bpfJumpEq, dst: 4, imm: copyBytes}, "bytes")
		a.readText(MostText + 1)
		a.jump(instruction{op: bpfJumpSignLT, dst: 0, imm: 1}, "copied")
		a.add(instruction{op: bpfStoreB, dst: 9, src: 0, off: valuesStatus + n})
		a.jump(instruction{op: bpfJump}, "copied")
		a.mark("bytes")
		a.word(2, 16, words)
		a.add(
			instruction{op: bpfJumpLE, dst: 2, off: 1, imm: MostText},
			instruction{op: bpfMovImm, dst: 2, imm: MostText},
			instruction{op: bpfCall, imm: helperReadUser})
		a.jump(instruction{op: bpfJumpNe, dst: 0}, "copied")
	}
	a.add(
		instruction{op: bpfMovImm, dst: 1, imm: 1},
		instruction{op: bpfStoreB, dst: 9, src: 1, off: valuesStatus + n})
	a.mark("copied")
}

// readText reads a text that ends with a zero byte: at most so many bytes with that, from the address in register 3 to that in register 1.
// Register 0 has how many were read, and less than 1 if none can be. Older kernels say 0 of an empty text (strncpy_from_user_nofault).
func (a *assembly) readText(most int32) {
	a.add(
		instruction{op: bpfMovImm, dst: 2, imm: most},
		instruction{op: bpfCall, imm: helperReadUserText},
		instruction{op: bpfJumpNe, dst: 0, off: 1},
		instruction{op: bpfMovImm, dst: 0, imm: 1})
}

// word loads the word whose number is in some bits of a copy in register 5. It uses register 4.
func (a *assembly) word(reg uint8, shift, words int32) {
	a.add(
		instruction{op: bpfMovReg, dst: 4, src: 5},
		instruction{op: bpfRightImm, dst: 4, imm: shift},
		instruction{op: bpfAndImm, dst: 4, imm: ResultWords - 1},
		instruction{op: bpfLeftImm, dst: 4, imm: 3},
		instruction{op: bpfAddReg, dst: 4, src: 9},
		instruction{op: bpfLoadDW, dst: reg, src: 4, off: int16(words)})
}

// ResultWords bounds the numbers of words.
const ResultWords = 32

// reportValues writes the values that register 9 points to. Their length is in its variable.
func (a *assembly) reportValues(m callMaps, r *reports, begun bool) {
	a.add(
		instruction{op: bpfLoadW, dst: 1, src: 10, off: callKey},
		instruction{op: bpfStoreDW, dst: 9, src: 1, off: valuesFunction},
		instruction{op: bpfLoadDW, dst: 1, src: 10, off: callLength},
		instruction{op: bpfStoreDW, dst: 9, src: 1, off: valuesLength},
		instruction{op: bpfLoadDW, dst: 1, src: 10, off: callCPU},
		instruction{op: bpfStoreDW, dst: 9, src: 1, off: valuesCPU},
		instruction{op: bpfMovImm, dst: 1})
	a.jump(instruction{op: bpfJumpSet, dst: 7, imm: 1 << callReturns}, "no tail")
	a.add(
		instruction{op: bpfMovReg, dst: 1, src: 7},
		instruction{op: bpfRightImm, dst: 1, imm: callTail},
		instruction{op: bpfAndImm, dst: 1, imm: flagTail})
	a.mark("no tail")
	if begun {
		a.add(instruction{op: bpfAddImm, dst: 1, imm: flagBegun})
	}
	a.add(
		instruction{op: bpfStoreDW, dst: 9, src: 1, off: valuesFlags},
		instruction{op: bpfCall, imm: helperTime},
		instruction{op: bpfStoreDW, dst: 9, src: 0, off: valuesEnd})
	r.thread(a)
	a.add(
		instruction{op: bpfStoreDW, dst: 9, src: 1, off: valuesThread})
	if m.grouped() {
		a.add(
			instruction{op: bpfLoadDW, dst: 1, src: 10, off: callAmount},
			instruction{op: bpfStoreDW, dst: 9, src: 1, off: callAmount - callFrom},
			instruction{op: bpfLoadDW, dst: 1, src: 10, off: callKnown},
			instruction{op: bpfStoreDW, dst: 9, src: 1, off: callKnown - callFrom})
	}
	a.keep(valuesResult)
	a.add(
		instruction{op: bpfLoadDW, dst: 1, src: 6, off: ctxIP},
		instruction{op: bpfStoreDW, dst: 9, src: 1, off: valuesResult + 8*ResultIP},
		instruction{op: bpfLoadDW, dst: 1, src: 6, off: ctxSP},
		instruction{op: bpfStoreDW, dst: 9, src: 1, off: valuesResult + 8*ResultSP})
	if !begun {
		a.fillResult(m)
	}
	a.add(instruction{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(r.fd)}, instruction{})
	if r.Stack {
		a.withStack(r)
	} else {
		a.add(
			instruction{op: bpfMovReg, dst: 2, src: 9},
			instruction{op: bpfMovImm, dst: 3, imm: valuesSize},
			instruction{op: bpfMovImm, dst: 4, imm: ringNoWakeup},
			instruction{op: bpfCall, imm: helperRingOutput})
		a.jump(instruction{op: bpfJumpEq, dst: 0}, "written")
	}
	a.tally(wordUnreported)
	a.mark("written")
}

// withStack writes the values and a copy of the stack. The program goes on at "written", or behind this if there was no room.
func (a *assembly) withStack(r *reports) {
	a.add(
		instruction{op: bpfMovImm, dst: 2, imm: r.stackRecord()},
		instruction{op: bpfMovImm, dst: 3},
		instruction{op: bpfCall, imm: helperRingReserve})
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "no room")
	a.add(
		instruction{op: bpfMovReg, dst: 3, src: 9},
		instruction{op: bpfMovReg, dst: 9, src: 0},
		instruction{op: bpfMovReg, dst: 1, src: 0},
		instruction{op: bpfMovImm, dst: 2, imm: valuesSize},
		instruction{op: bpfCall, imm: helperReadKernel},
		instruction{op: bpfMovImm, dst: 1},
		instruction{op: bpfStoreDW, dst: 9, src: 1, off: int16(valuesSize)})
	for i := range r.pieces() {
		a.add(
			instruction{op: bpfMovReg, dst: 1, src: 9},
			instruction{op: bpfAddImm, dst: 1, imm: stackAt + i*stackPiece},
			instruction{op: bpfMovImm, dst: 2, imm: stackPiece},
			instruction{op: bpfLoadDW, dst: 3, src: 6, off: ctxSP},
			instruction{op: bpfAndImm, dst: 3, imm: -stackPiece},
			instruction{op: bpfAddImm, dst: 3, imm: i * stackPiece},
			instruction{op: bpfCall, imm: helperReadUser})
		a.jump(instruction{op: bpfJumpNe, dst: 0}, "stack")
		a.add(
			instruction{op: bpfMovImm, dst: 1, imm: i + 1},
			instruction{op: bpfStoreDW, dst: 9, src: 1, off: int16(valuesSize)})
	}
	a.mark("stack")
	a.add(
		instruction{op: bpfMovReg, dst: 1, src: 9},
		instruction{op: bpfMovImm, dst: 2, imm: ringNoWakeup},
		instruction{op: bpfCall, imm: helperRingSubmit})
	a.jump(instruction{op: bpfJump}, "written")
	a.mark("no room")
}

// report returns what a record says.
func (r *reports) report(b []byte) (c CallReport, ok bool) {
	if !r.detailed() {
		if len(b) < int(unsafe.Sizeof(slowRecord{})) {
			return c, false
		}
		s := (*slowRecord)(unsafe.Pointer(&b[0]))
		return CallReport{Function: int(s.function), TID: int(uint32(s.thread)), PID: int(s.thread >> 32), Length: durationOf(s.length), CPU: durationOf(s.cpu), End: durationOf(s.end)}, true
	}
	if len(b) < int(valuesSize) {
		return c, false
	}
	v := (*CallValues)(unsafe.Pointer(&b[0]))
	c = CallReport{Function: int(v.function), TID: int(uint32(v.thread)), PID: int(v.thread >> 32), Length: durationOf(v.length), CPU: durationOf(v.cpu), End: durationOf(v.end), Values: v}
	if r.Stack && len(b) >= int(r.stackRecord()) {
		pieces := min(*(*uint64)(unsafe.Pointer(&b[valuesSize])), uint64(r.pieces()))
		c.Stack = b[stackAt:][:pieces*stackPiece]
		c.Stack = c.Stack[min(v.Registers().SP()%stackPiece, uint64(len(c.Stack))):]
	}
	return c, true
}
