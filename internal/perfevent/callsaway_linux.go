package perfevent

import "golang.org/x/sys/unix"

// The processor time of a call is its length less the time that its thread was off processors meanwhile. A program at each switch of the scheduler
// adds that up, by the clock of the programs of the probes, for the threads that have met a probe. The scheduler's own figure of
// a thread's processor time would not do: it is as old as the last tick, and on the clock of a processor.

// An away is that program, and its table by threads, whose numbers are those of the first namespace. It has no descriptors where
// processor times are not asked for, or cannot be had.
type away struct{ table, program, link int }

// mostAway is how many threads may have met a probe. Calls of others have no processor time.
const mostAway = 1 << 15

// Offsets in the value of a thread.
const (
	awayTotal = 0 // how long it was off processors
	awaySince = 8 // since when it is; 0: it is on one
	awaySize  = 16
)

// notKnown is a processor time that is not known, and the thread of a call that has none.
const notKnown = -1

// open makes the program and its table. Where the kernel's types are not known there are none.
func (w *away) open() {
	pid, err := pidOffset()
	if err != nil {
		return
	}
	if w.table, err = newTable(4, awaySize, mostAway, 0); err != nil {
		return
	}
	if w.program, err = loadProgram(awayProgram(w.table, pid), unix.BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0); err == nil {
		w.link, err = attachRaw("sched_switch", w.program)
	}
	if err != nil {
		w.close()
	}
}

// noAway returns one without descriptors.
func noAway() away { return away{-1, -1, -1} }

func (w *away) close() {
	closeAll(w.link, w.program, w.table)
	*w = noAway()
}

// on reports whether processor times are known.
func (w *away) on() bool { return w.table >= 0 }

// Offset from the frame pointer of the variable of awayProgram.
const awayThread = -8

// awayProgram makes the program for sched_switch. The thread that leaves the processor still runs. The next one is the third argument.
func awayProgram(table int, pid int16) []instruction {
	var a assembly
	find := func(none string) {
		a.add(
			instruction{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(table)}, instruction{},
			instruction{op: bpfMovReg, dst: 2, src: 10},
			instruction{op: bpfAddImm, dst: 2, imm: awayThread},
			instruction{op: bpfCall, imm: helperMapLookup})
		a.jump(instruction{op: bpfJumpEq, dst: 0}, none)
		a.add(
			instruction{op: bpfMovReg, dst: 7, src: 0},
			instruction{op: bpfCall, imm: helperTime})
	}
	a.add(
		instruction{op: bpfMovReg, dst: 6, src: 1},
		instruction{op: bpfCall, imm: helperPIDTGID},
		instruction{op: bpfStoreDW, dst: 10, src: 0, off: awayThread})
	find("next")
	a.add(instruction{op: bpfStoreDW, dst: 7, src: 0, off: awaySince})
	a.mark("next")
	a.add(
		instruction{op: bpfLoadDW, dst: 3, src: 6, off: 16},
		instruction{op: bpfAddImm, dst: 3, imm: int32(pid)},
		instruction{op: bpfMovReg, dst: 1, src: 10},
		instruction{op: bpfAddImm, dst: 1, imm: awayThread},
		instruction{op: bpfMovImm, dst: 2, imm: 4},
		instruction{op: bpfCall, imm: helperReadKernel})
	find("out")
	a.add(instruction{op: bpfLoadDW, dst: 1, src: 7, off: awaySince})
	a.jump(instruction{op: bpfJumpEq, dst: 1}, "out") // it was here when it met its first probe
	a.add(
		instruction{op: bpfSubReg, dst: 0, src: 1},
		instruction{op: bpfLoadDW, dst: 1, src: 7, off: awayTotal},
		instruction{op: bpfAddReg, dst: 0, src: 1},
		instruction{op: bpfStoreDW, dst: 7, src: 0, off: awayTotal},
		instruction{op: bpfMovImm, dst: 1},
		instruction{op: bpfStoreDW, dst: 7, src: 1, off: awaySince})
	a.mark("out")
	return finish(a.code)
}

// A timing is the part of a program that finds the processor time of a call.
type timing struct {
	*assembly
	maps callMaps
}

// ownThread leaves the number of the running thread in register 0.
func (a timing) ownThread() {
	a.add(
		instruction{op: bpfCall, imm: helperPIDTGID},
		instruction{op: bpfLeftImm, dst: 0, imm: 32},
		instruction{op: bpfRightImm, dst: 0, imm: 32})
}

// onAway calls a helper with the table of threads, and the thread in callThread. Further arguments are in registers.
func (a timing) onAway(helper int32) {
	a.add(
		instruction{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(a.maps.away.table)}, instruction{},
		instruction{op: bpfMovReg, dst: 2, src: 10},
		instruction{op: bpfAddImm, dst: 2, imm: callThread},
		instruction{op: bpfCall, imm: helper})
}

// begin notes the thread that begins a call, and how long it was off processors until then. A goroutine may be continued by another thread, and its
// thread by other goroutines: its calls have no processor time.
func (a timing) begin() {
	if !a.maps.away.on() {
		return
	}
	a.add(
		instruction{op: bpfMovImm, dst: 1, imm: notKnown},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callThread},
		instruction{op: bpfMovImm, dst: 1},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callAway})
	a.jump(instruction{op: bpfJumpSet, dst: 7, imm: 1 << callGoroutine}, "noted")
	a.ownThread()
	a.add(instruction{op: bpfStoreDW, dst: 10, src: 0, off: callThread})
	a.onAway(helperMapLookup)
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "first")
	a.add(
		instruction{op: bpfLoadDW, dst: 1, src: 0, off: awayTotal},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callAway})
	a.jump(instruction{op: bpfJump}, "noted")
	a.mark("first")
	a.add(
		instruction{op: bpfMovImm, dst: 1},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callSlow},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callSlow + 8},
		instruction{op: bpfMovReg, dst: 3, src: 10},
		instruction{op: bpfAddImm, dst: 3, imm: callSlow},
		instruction{op: bpfMovImm, dst: 4, imm: updateIfAbsent})
	a.onAway(helperMapUpdate)
	a.mark("noted")
}

// resume takes what begin has noted from offsets of what a register points to.
func (a timing) resume(reg uint8, total, thread int16) {
	if !a.maps.away.on() {
		return
	}
	a.add(
		instruction{op: bpfLoadDW, dst: 1, src: reg, off: total},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callAway},
		instruction{op: bpfLoadDW, dst: 1, src: reg, off: thread},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callThread})
}

// processorTime leaves in callCPU the processor time of a call that ends, whose length is in callLength.
func (a timing) processorTime() {
	a.add(
		instruction{op: bpfMovImm, dst: 1, imm: notKnown},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callCPU})
	if !a.maps.away.on() {
		return
	}
	a.ownThread()
	a.add(instruction{op: bpfLoadDW, dst: 1, src: 10, off: callThread})
	a.jump(instruction{op: bpfJumpNeReg, dst: 0, src: 1}, "no processor time")
	a.onAway(helperMapLookup)
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "no processor time")
	a.add(
		instruction{op: bpfLoadDW, dst: 1, src: 0, off: awayTotal},
		instruction{op: bpfLoadDW, dst: 2, src: 10, off: callAway},
		instruction{op: bpfSubReg, dst: 1, src: 2},
		instruction{op: bpfLoadDW, dst: 2, src: 10, off: callLength})
	a.jump(instruction{op: bpfJumpGEReg, dst: 2, src: 1}, "was on one")
	a.jump(instruction{op: bpfJump}, "no processor time")
	a.mark("was on one")
	a.add(
		instruction{op: bpfSubReg, dst: 2, src: 1},
		instruction{op: bpfStoreDW, dst: 10, src: 2, off: callCPU})
	a.mark("no processor time")
}
