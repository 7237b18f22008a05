package perfevent

import (
	"encoding/binary"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A key is a tag and keyWords words. The table of keys has the number of its statistics. These are behind those of all functions, and
// have a copy of the key, so that reading takes no system call.

// keyWords is the number of words of a key: a number, or a text.
const keyWords = MostKeyText / 8

// commSize is the size of a thread's name, with its zero byte.
const commSize = 16

// Bits of a tag above the number of the function.
const (
	tagLength  = 20 // of a text
	tagUnknown = 30 // the value is not known
	tagWritten = 31 // in the statistics: the words of the key are there
)

// Opcodes of expressions and keys.
const (
	bpfAndReg      = 0x5f
	bpfMulReg      = 0x2f
	bpfDivReg      = 0x3f // without a sign; by zero it is 0
	bpfNegate      = 0x87
	bpfModuloImm   = 0x97 // without a sign
	bpfOrImm       = 0x47
	bpfJumpNoSign  = 0x75 // if greater or equal with a sign
	bpfFetchAdd    = 1    // imm of bpfAtomic: the register gets the old value
	updateIfAbsent = 1    // BPF_NOEXIST
)

// A grouping is the part of a program that finds the statistics which a call counts in.
type grouping struct {
	*assembly
	maps  callMaps
	ours  pidNamespace
	place *CallPlace
}

// opened counts a call that has begun in the statistics that it belongs to, which register 8 points to from then on.
func (a *grouping) opened() {
	a.add(
		instruction{op: bpfLoadW, dst: 1, src: 10, off: callKey},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callGroup},
		instruction{op: bpfMovImm, dst: 1},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callAmount},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callKnown})
	keyLater := a.place.Key != nil && a.place.Key.AtReturn
	if a.place.Key != nil && !keyLater {
		a.group(a.place.Key, false)
	}
	a.tally(wordCalls)
	if a.place.Amount != nil && !a.place.Amount.AtReturn {
		a.amount(a.place.Amount)
		if !keyLater {
			a.sum()
		}
	}
}

// resume takes what was kept of a call from the value that register 0 points to.
func (a *grouping) resume() {
	for _, off := range []int16{callAmount, callKnown, callGroup} {
		a.add(
			instruction{op: bpfLoadDW, dst: 1, src: 0, off: off - callFrom},
			instruction{op: bpfStoreDW, dst: 10, src: 1, off: off})
	}
	a.statistics(a.maps, 8)
}

// ended finds the group of a call that has ended, if the key is known only then, and adds what is summed.
func (a *grouping) ended() {
	if a.place.Key != nil && a.place.Key.AtReturn {
		a.group(a.place.Key, true)
		if a.place.Amount != nil && !a.place.Amount.AtReturn {
			a.sum()
		}
	}
	if a.place.Amount != nil && a.place.Amount.AtReturn {
		a.jump(instruction{op: bpfJumpSet, dst: 7, imm: 1 << callTail}, "no result")
		a.amount(a.place.Amount)
		a.sum()
		a.mark("no result")
	}
}

// endUnknown counts a call whose key would be known at its end, which is not seen: it ends by a jump where it begins.
func (a *grouping) endUnknown() {
	a.group(nil, true)
	if a.place.Amount != nil && !a.place.Amount.AtReturn {
		a.sum()
	}
}

// group finds the statistics of the key that the call has: the program goes on with their number in its variable, and their address
// in register 8. Those of the function stand for all keys that find no room. A nil key is an unknown value. The result of a call that
// ends by a jump is unknown.
func (a *grouping) group(key *CallKey, ended bool) {
	a.add(
		instruction{op: bpfLoadW, dst: 1, src: 10, off: callKey},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callTag},
		instruction{op: bpfMovImm, dst: 1})
	for i := range int16(keyWords) {
		a.add(instruction{op: bpfStoreDW, dst: 10, src: 1, off: callTag + 8 + 8*i})
	}
	if key != nil && key.Kind == KeyNone {
		key = nil
	}
	if key != nil {
		if ended {
			a.jump(instruction{op: bpfJumpSet, dst: 7, imm: 1 << callTail}, "unknown")
		}
		a.key(key)
	}
	if key == nil || len(a.jumps["unknown"]) > 0 { // the kernel refuses code that is not reached
		if key != nil {
			a.jump(instruction{op: bpfJump}, "known")
		}
		a.mark("unknown")
		a.add(
			instruction{op: bpfLoadDW, dst: 1, src: 10, off: callTag},
			instruction{op: bpfOrImm, dst: 1, imm: 1 << tagUnknown},
			instruction{op: bpfStoreDW, dst: 10, src: 1, off: callTag})
		a.mark("known")
	}
	a.onGroups(helperMapLookup)
	a.jump(instruction{op: bpfJumpNe, dst: 0}, "met")
	a.newGroup(key)
	a.mark("met")
	a.add(
		instruction{op: bpfLoadDW, dst: 1, src: 0},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callGroup})
	a.statistics(a.maps, 8)
	a.jump(instruction{op: bpfJump}, "grouped")
	a.mark("no room")
	a.add(
		instruction{op: bpfLoadW, dst: 1, src: 10, off: callKey},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callGroup})
	a.statistics(a.maps, 8)
	a.mark("grouped")
}

// onGroups calls a helper with the table of keys and the key. Further arguments are in registers.
func (a *grouping) onGroups(helper int32) {
	a.add(
		instruction{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(a.maps.groups)}, instruction{},
		instruction{op: bpfMovReg, dst: 2, src: 10},
		instruction{op: bpfAddImm, dst: 2, imm: int32(callTag)},
		instruction{op: bpfCall, imm: helper})
}

// comm writes the name of the thread that makes the call behind the number of a key, if the number is that of the thread, or of the process
// whose first thread it is. The table has the key without it: names change.
func (a *grouping) comm(key *CallKey) {
	switch {
	case key == nil:
		return
	case key.Kind == KeyProcess:
		a.add(
			instruction{op: bpfCall, imm: helperPIDTGID},
			instruction{op: bpfMovReg, dst: 1, src: 0},
			instruction{op: bpfRightImm, dst: 1, imm: 32},
			instruction{op: bpfLeftImm, dst: 0, imm: 32},
			instruction{op: bpfRightImm, dst: 0, imm: 32})
		a.jump(instruction{op: bpfJumpNeReg, dst: 0, src: 1}, "no name")
	case key.Kind != KeyThread:
		return
	}
	a.add(
		instruction{op: bpfMovReg, dst: 1, src: 10},
		instruction{op: bpfAddImm, dst: 1, imm: int32(callTag + 16)},
		instruction{op: bpfMovImm, dst: 2, imm: commSize},
		instruction{op: bpfCall, imm: helperCurrentComm})
	if key.Kind == KeyProcess {
		a.mark("no name")
	}
}

// newGroup puts a key that was not met before into the table, and goes on at "grouped", or at "no room". If another thread did so
// meanwhile it goes on behind its end, with the address of the number in register 0. The number that it took is lost then.
func (a *grouping) newGroup(key *CallKey) {
	a.add(
		instruction{op: bpfLoad64, dst: 2, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(a.maps.words)}, instruction{imm: 8 * wordGroups},
		instruction{op: bpfLoadDW, dst: 1, src: 2})
	a.jump(instruction{op: bpfJumpGE, dst: 1, imm: int32(a.maps.most)}, "no room")
	a.add(
		instruction{op: bpfMovImm, dst: 1, imm: 1},
		instruction{op: bpfAtomic, dst: 2, src: 1, imm: bpfFetchAdd})
	a.jump(instruction{op: bpfJumpGE, dst: 1, imm: int32(a.maps.most)}, "no room")
	a.add(
		instruction{op: bpfAddImm, dst: 1, imm: int32(a.maps.functions)},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callGroup},
		instruction{op: bpfMovReg, dst: 3, src: 10},
		instruction{op: bpfAddImm, dst: 3, imm: int32(callGroup)},
		instruction{op: bpfMovImm, dst: 4, imm: updateIfAbsent})
	a.onGroups(helperMapUpdate)
	a.jump(instruction{op: bpfJumpNe, dst: 0}, "another")
	a.comm(key)
	a.add(instruction{op: bpfLoadDW, dst: 1, src: 10, off: callGroup})
	a.statistics(a.maps, 8)
	for i := range int16(keyWords) {
		a.add(
			instruction{op: bpfLoadDW, dst: 1, src: 10, off: callTag + 8 + 8*i},
			instruction{op: bpfStoreDW, dst: 8, src: 1, off: 8 * (wordTag + 1 + i)})
	}
	// An exchange, before which the words are written.
	a.add(
		instruction{op: bpfLoadDW, dst: 1, src: 10, off: callTag},
		instruction{op: bpfMovImm, dst: 2, imm: 1},
		instruction{op: bpfLeftImm, dst: 2, imm: tagWritten},
		instruction{op: bpfOrReg, dst: 1, src: 2},
		instruction{op: bpfAtomic, dst: 8, src: 1, off: 8 * wordTag, imm: bpfFetchAdd})
	a.jump(instruction{op: bpfJump}, "grouped")
	a.mark("another")
	a.onGroups(helperMapLookup)
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "no room")
}

// key writes the words of a key, or goes on at "unknown".
func (a *grouping) key(k *CallKey) {
	switch k.Kind {
	case KeyThread:
		a.add(keyNumber(ofThread, a.ours)...)
		a.add(instruction{op: bpfLoadW, dst: 1, src: 10, off: varKey})
	case KeyProcess:
		a.add(instruction{op: bpfLoadW, dst: 1, src: 10, off: callKey + 4})
	case KeyCaller:
		a.slot(1)
		a.load(0, 8, "unknown")
	case KeyNumber:
		a.operand(&k.Value, "unknown")
	case KeyText:
		a.keyText(k)
		return
	}
	a.add(instruction{op: bpfStoreDW, dst: 10, src: 1, off: callTag + 8})
}

// keyText writes the words of a text. Where it ends, the rest of the words is zero.
func (a *grouping) keyText(k *CallKey) {
	const longer = MostKeyText + 1
	if k.Len != nil {
		a.operand(k.Len, "unknown")
		a.add(
			instruction{op: bpfJumpLE, dst: 1, off: 1, imm: longer},
			instruction{op: bpfMovImm, dst: 1, imm: longer},
			instruction{op: bpfStoreDW, dst: 10, src: 1, off: callLeft})
	}
	a.operand(&k.Value, "unknown")
	a.add(instruction{op: bpfMovReg, dst: 3, src: 1})
	a.clearText()
	if k.Len != nil {
		a.add(
			instruction{op: bpfLoadDW, dst: 2, src: 10, off: callLeft},
			instruction{op: bpfJumpLE, dst: 2, off: 1, imm: MostKeyText},
			instruction{op: bpfMovImm, dst: 2, imm: MostKeyText})
		a.jump(instruction{op: bpfJumpEq, dst: 2}, "empty")
		a.add(instruction{op: bpfCall, imm: helperReadUser})
		a.jump(instruction{op: bpfJumpNe, dst: 0}, "unknown")
		a.mark("empty")
		a.add(instruction{op: bpfLoadDW, dst: 1, src: 10, off: callLeft})
	} else {
		// One byte more than the key has, and the zero byte: what it returns is one more than the length.
		a.readText(longer + 1)
		a.jump(instruction{op: bpfJumpSignLT, dst: 0, imm: 1}, "unknown")
		a.add(
			instruction{op: bpfMovReg, dst: 1, src: 0},
			instruction{op: bpfAddImm, dst: 1, imm: -1})
	}
	a.add(
		instruction{op: bpfLeftImm, dst: 1, imm: tagLength},
		instruction{op: bpfLoadDW, dst: 2, src: 10, off: callTag},
		instruction{op: bpfAddReg, dst: 2, src: 1},
		instruction{op: bpfStoreDW, dst: 10, src: 2, off: callTag})
	for i := range int16(keyWords) {
		a.add(
			instruction{op: bpfLoadDW, dst: 1, src: 10, off: callText + 8*i},
			instruction{op: bpfStoreDW, dst: 10, src: 1, off: callTag + 8 + 8*i})
	}
}

// amount notes the number that is summed.
func (a *grouping) amount(e *Expression) {
	a.number(e, 0, "no amount")
	a.add(
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callAmount},
		instruction{op: bpfMovImm, dst: 1, imm: 1},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callKnown})
	a.mark("no amount")
}

// sum adds the number that was noted, if there is one. Its halves are summed, so that the sum has no overflow.
func (a *grouping) sum() {
	a.add(instruction{op: bpfLoadDW, dst: 1, src: 10, off: callKnown})
	a.jump(instruction{op: bpfJumpEq, dst: 1}, "summed")
	a.add(
		instruction{op: bpfLoadDW, dst: 1, src: 10, off: callAmount},
		instruction{op: bpfMovReg, dst: 2, src: 1},
		instruction{op: bpfSignRight, dst: 2, imm: 32},
		instruction{op: bpfAtomic, dst: 8, src: 2, off: 8 * wordHigh},
		instruction{op: bpfLeftImm, dst: 1, imm: 32},
		instruction{op: bpfRightImm, dst: 1, imm: 32},
		instruction{op: bpfAtomic, dst: 8, src: 1, off: 8 * wordLow})
	a.tally(wordSummed)
	a.mark("summed")
}

// Groups returns how many keys there are.
func (c *Calls) Groups() int {
	return min(int(min(atomic.LoadUint64(c.word(wordGroups)), MostGroups)), c.maps.most)
}

// Group reads the key and the statistics of group i. It returns false if there is none of this number.
func (c *Calls) Group(i int, g *CallGroup, s *CallStats) bool {
	at := wordsBefore + wordsEach*(c.maps.functions+i)
	tag := atomic.LoadUint64(c.word(at + wordTag))
	if tag&(1<<tagWritten) == 0 {
		return false
	}
	*g = CallGroup{Function: int(tag & (MostFunctions - 1)), Unknown: tag&(1<<tagUnknown) != 0}
	for i := range keyWords {
		binary.LittleEndian.PutUint64(g.Text[8*i:], *c.word(at + wordTag + 1 + i))
	}
	g.Number, g.Length = binary.LittleEndian.Uint64(g.Text[:]), int(tag>>tagLength&(1<<(tagUnknown-tagLength)-1))
	c.read(at, s)
	return true
}
