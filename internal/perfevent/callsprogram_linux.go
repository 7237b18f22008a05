package perfevent

import "golang.org/x/sys/unix"

// The programs of Calls keep the context in register 6, the cookie in register 7, the statistics of the function in
// register 8.

// Offsets from the frame pointer of their variables, below those of keyNumber.
const (
	callKey    = varPID - callIDSize // of callIDSize
	callHigh   = callKey - 8         // the end of the goroutine's stack
	callFrom   = callHigh - 48       // when the call has begun: the first of openWords, the value of a call that has not ended
	callGroup  = callFrom + 8        // whose statistics it counts in: the function's, or a key's behind those of all functions
	callAmount = callFrom + 16       // the number that is summed
	callKnown  = callFrom + 24       // 1: there is one
	callAway   = callFrom + 32       // how long its thread was off processors before: see away
	callThread = callFrom + 40       // that thread
	callLength = callFrom - 8        // how long it took
	callCopies = callLength - 8      // address of the function's Copies
	callCPU    = callCopies - 8      // its processor time
	callSlow   = callCPU - 40        // of slowRecord
	callLeft   = callSlow - 8        // the left operand of a comparison
	callLoaded = callLeft - 8        // what was loaded for one
	callText   = callLoaded - 72     // text for one
	callTag    = callText - 8*(1+keyWords)
	callTerms  = callTag - 8*MostTerms // intermediate results of an Expression
	callSince  = callTerms - 8         // in a family: when the process was made, or has executed its program
	callKin    = callSince - 8         // its number: with callSince, as long as that is when it was made, its key
)

// openWords is the number of words that are kept of a call that has not ended, where calls are told apart, a number is summed, or processor
// times are known.
const openWords = 6

// callIDSize is the size of the key of a call that has not ended: three words, which are the number of the function and above it, in a
// family, that of the process; the address of
// its return address, or the distance of that from the end of the stack; the address of the goroutine's descriptor.
const callIDSize = 24

// Words of the map of a Calls.
const (
	wordOn         = 0 // whether calls are counted
	wordGroups     = 1 // how many keys were met, and more
	wordExec       = 2 // whether the process has executed another program
	wordGeneration = 3 // that of the links whose probes count
	wordElsewhere  = 4 // how often probes were reached in mappings that are not known
	wordWindow     = 5 // the generation of a window while its probes count
	wordUnread     = 6 // calls for whose condition memory could not be read
	wordsBefore    = 8 // those of the functions
	wordCalls      = 0
	wordReturned   = 1
	wordTails      = 2
	wordLeft       = 3
	wordUntimed    = 4
	wordSum        = 5
	wordMax        = 6
	wordUnreported = 7
	wordSummed     = 8 // calls whose number is in the sum
	wordHigh       = 9 // the sum, in units of 1<<32
	wordLow        = 10
	wordTag        = 11 // the key; keyWords follow
	wordBuckets    = 16
	wordsEach      = wordBuckets + CallBuckets
)

// Offsets in the context, struct pt_regs of x86-64.
const (
	ctxR14   = 8 * 1
	ctxFlags = 8 * 18
	ctxSP    = 8 * 19
)

// callMaps are what the programs of a Calls work with.
type callMaps struct {
	start     callStart
	words     int // its map of words
	open      int // its table of calls that have not ended
	groups    int // its table of keys; -1: there is none
	functions int
	most      int // keys
	template  int // the value of a call that has just begun
	copies    int // the Copies of all functions
	sum       bool
	detailed  bool
	family    *family // nil: there is none
	away      away
}

// grouped reports whether calls count in statistics of keys, or have a number that is summed.
func (m *callMaps) grouped() bool { return m.groups >= 0 || m.sum }

// identify makes the key of the call, and finds the statistics of the function.
func (a *assembly) identify(m callMaps) {
	a.add(
		instruction{op: bpfMovReg, dst: 1, src: 7},
		instruction{op: bpfAndImm, dst: 1, imm: MostFunctions - 1})
	a.jump(instruction{op: bpfJumpGE, dst: 1, imm: int32(m.functions)}, "out")
	a.add(instruction{op: bpfStoreDW, dst: 10, src: 1, off: callKey})
	m.family.keyProcess(a)
	a.statistics(m, 8)
	a.hit(m)
	a.add(
		instruction{op: bpfMovReg, dst: 1, src: 7},
		instruction{op: bpfSignRight, dst: 1, imm: callSlot},
		instruction{op: bpfLoadDW, dst: 2, src: 6, off: ctxSP},
		instruction{op: bpfAddReg, dst: 1, src: 2},
		instruction{op: bpfMovImm, dst: 3},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callKey + 8},
		instruction{op: bpfStoreDW, dst: 10, src: 3, off: callKey + 16},
		instruction{op: bpfStoreDW, dst: 10, src: 3, off: callHigh})
	a.jump(instruction{op: bpfJumpSet, dst: 7, imm: 1 << callGoroutine}, "goroutine")
	a.jump(instruction{op: bpfJump}, "identified")
	a.mark("goroutine")
	// The descriptor begins with the bounds of the stack (runtime.g). If it cannot be read the end counts as 0.
	a.add(
		instruction{op: bpfLoadDW, dst: 3, src: 6, off: ctxR14},
		instruction{op: bpfStoreDW, dst: 10, src: 3, off: callKey + 16},
		instruction{op: bpfAddImm, dst: 3, imm: 8},
		instruction{op: bpfMovImm, dst: 2, imm: 8},
		instruction{op: bpfMovReg, dst: 1, src: 10},
		instruction{op: bpfAddImm, dst: 1, imm: callHigh},
		instruction{op: bpfCall, imm: helperReadUser},
		instruction{op: bpfLoadDW, dst: 1, src: 10, off: callHigh},
		instruction{op: bpfLoadDW, dst: 2, src: 10, off: callKey + 8},
		instruction{op: bpfSubReg, dst: 1, src: 2},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callKey + 8})
	a.mark("identified")
}

// statistics leaves in a register the address of the statistics whose number is in register 1.
func (a *assembly) statistics(m callMaps, reg uint8) {
	a.jump(instruction{op: bpfJumpGE, dst: 1, imm: int32(m.functions + m.most)}, "out")
	a.add(
		instruction{op: bpfMulImm, dst: 1, imm: 8 * wordsEach},
		instruction{op: bpfLoad64, dst: reg, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(m.words)}, instruction{imm: 8 * wordsBefore},
		instruction{op: bpfAddReg, dst: reg, src: 1})
}

// onOpen calls a helper with the table of open calls and the key. Further arguments are in registers.
func (a *assembly) onOpen(helper int32, m callMaps) {
	a.add(
		instruction{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(m.open)}, instruction{},
		instruction{op: bpfMovReg, dst: 2, src: 10},
		instruction{op: bpfAddImm, dst: 2, imm: callKey},
		instruction{op: bpfCall, imm: helper})
}

// tally adds one to a word of the function.
func (a *assembly) tally(word int16) {
	a.add(
		instruction{op: bpfMovImm, dst: 1, imm: 1},
		instruction{op: bpfAtomic, dst: 8, src: 1, off: 8 * word})
}

// entryProgram counts a call, and notes when it has begun. While calls are not counted, and if it does not pass the condition, it only
// forgets a call that was open at this place of the stack: the return of the new call is not that one's.
func entryProgram(m callMaps, r *reports, p *CallPlace) []instruction {
	var a assembly
	g := grouping{&a, m, r.ours, p}
	a.begin(m)
	a.identify(m)
	a.ifCounts(m)
	a.add(
		instruction{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(m.words)}, instruction{imm: 8 * wordOn},
		instruction{op: bpfLoadDW, dst: 1, src: 1})
	a.jump(instruction{op: bpfJumpEq, dst: 1}, "forget")
	if p.Condition != nil {
		a.unless(p.Condition, "forget", "unread", new(int))
	}
	if m.grouped() {
		g.opened()
	} else {
		a.tally(wordCalls)
	}
	a.jump(instruction{op: bpfJumpSet, dst: 7, imm: 1 << callCounted}, "out")
	if m.detailed {
		a.openValues(m, r)
	} else {
		a.openTime(m)
	}
	a.mark("ends") // the function is nothing but a jump or a return
	if p.Key != nil && p.Key.AtReturn {
		g.endUnknown()
	}
	a.tally(wordReturned)
	a.tally(wordBuckets)
	a.jump(instruction{op: bpfJumpSet, dst: 7, imm: 1 << callReturns}, "out")
	a.tally(wordTails)
	a.jump(instruction{op: bpfJump}, "out")
	if len(a.jumps["unread"]) > 0 { // the kernel refuses code that is not reached
		a.mark("unread")
		a.add(
			instruction{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(m.words)}, instruction{imm: 8 * wordUnread},
			instruction{op: bpfMovImm, dst: 2, imm: 1},
			instruction{op: bpfAtomic, dst: 1, src: 2})
	}
	a.mark("forget")
	a.onOpen(helperMapDelete, m)
	a.mark("out")
	return finish(a.code)
}

// returnProgram ends the call that the thread returns from, if its beginning was seen.
func returnProgram(m callMaps, r *reports, p *CallPlace) []instruction {
	var a assembly
	g, times := grouping{&a, m, r.ours, p}, timing{&a, m}
	a.begin(m)
	a.add(
		instruction{op: bpfCall, imm: helperTime},
		instruction{op: bpfMovReg, dst: 9, src: 0})
	a.identify(m)
	a.condition()
	a.onOpen(helperMapLookup, m)
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "out")
	a.add(instruction{op: bpfLoadDW, dst: 1, src: 0})
	a.ifFollowed(m, "stale")
	a.add(
		instruction{op: bpfSubReg, dst: 9, src: 1},
		instruction{op: bpfStoreDW, dst: 10, src: 9, off: callLength})
	if !m.detailed {
		times.resume(0, callAway-callFrom, callThread-callFrom)
	}
	if m.grouped() {
		g.resume()
	}
	if !m.detailed {
		a.onOpen(helperMapDelete, m)
	}
	if m.grouped() {
		g.ended()
	}
	a.tally(wordReturned)
	a.add(instruction{op: bpfAtomic, dst: 8, src: 9, off: 8 * wordSum})
	a.maximum()
	a.bucket()
	a.jump(instruction{op: bpfJumpSet, dst: 7, imm: 1 << callTail}, "tail")
	a.jump(instruction{op: bpfJump}, "counted")
	a.mark("tail")
	a.tally(wordTails)
	a.mark("counted")
	switch {
	case m.detailed:
		a.ifFast(r, "forget")
		a.onOpen(helperMapLookup, m)
		a.jump(instruction{op: bpfJumpEq, dst: 0}, "out")
		a.add(instruction{op: bpfMovReg, dst: 9, src: 0})
		times.resume(9, valuesAway, valuesBegunBy)
		times.processorTime()
		a.reportValues(m, r, false)
		a.mark("forget")
		a.onOpen(helperMapDelete, m)
	case r.any():
		a.ifFast(r, "out")
		times.processorTime()
		a.reportTime(r)
	}
	a.jump(instruction{op: bpfJump}, "out")
	a.mark("stale")
	a.onOpen(helperMapDelete, m)
	a.mark("out")
	return finish(a.code)
}

// Bits of the processor's flags.
const (
	flagC, flagP, flagZ, flagS, flagO = 0, 2, 6, 7, 11
)

// condition ends the program if a conditional jump is not taken. Its condition is in the cookie.
func (a *assembly) condition() {
	a.add(
		instruction{op: bpfMovReg, dst: 1, src: 7},
		instruction{op: bpfRightImm, dst: 1, imm: callCond},
		instruction{op: bpfAndImm, dst: 1, imm: 31})
	a.jump(instruction{op: bpfJumpEq, dst: 1, imm: NoCond}, "taken")
	a.add(
		instruction{op: bpfMovReg, dst: 3, src: 1},
		instruction{op: bpfRightImm, dst: 3, imm: 1})
	// Each pair of conditions is one of these, or its opposite (Intel SDM volume 2, appendix B, condition test field).
	for pair, flags := range [][]int32{{flagO}, {flagC}, {flagZ}, {flagC, flagZ}, {flagS}, {flagP}, {flagS, flagO}, {flagS, flagO, flagZ}} {
		next := string(rune('0' + pair))
		a.jump(instruction{op: bpfJumpNe, dst: 3, imm: int32(pair)}, next)
		a.add(instruction{op: bpfMovImm, dst: 4})
		for i, flag := range flags {
			join := uint8(bpfOrReg)
			if flag == flagO && i > 0 {
				join = bpfXorReg
			}
			a.add(
				instruction{op: bpfLoadDW, dst: 2, src: 6, off: ctxFlags},
				instruction{op: bpfRightImm, dst: 2, imm: flag},
				instruction{op: join, dst: 4, src: 2})
		}
		a.jump(instruction{op: bpfJump}, "tested")
		a.mark(next)
	}
	a.jump(instruction{op: bpfJump}, "out")
	a.mark("tested")
	a.add(
		instruction{op: bpfAndImm, dst: 4, imm: 1},
		instruction{op: bpfAndImm, dst: 1, imm: 1})
	a.jump(instruction{op: bpfJumpEqReg, dst: 4, src: 1}, "out")
	a.mark("taken")
}
