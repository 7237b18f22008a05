package unwind

import "ptools/internal/a64"

// pushedLR is how much a signal handler of Go pushes when it makes an interrupted function look as if it had called another
// (sigctxt.pushCall).
const pushedLR = 16

// gSchedLR are where LR may be in g.sched: Go 1.25 and older have another word in front of it.
var gSchedLR = [...]uint64{gSchedG + 16, gSchedG + 24}

// leaveGo leaves a Go function.
func (u *Unwinder) leaveGo(p *place, n *plan) End {
	switch n.way {
	case wayGoGrow, wayGoSwitch:
		if u.parked {
			return Whole // the goroutine that was on the thread has left it, and may run elsewhere by now
		}
	}
	switch n.way {
	case wayGoFP:
		return u.leaveGoFP(n)
	case wayGoSwitch:
		return u.leaveGoSwitch(n)
	case wayGoGrow:
		return u.leaveGoGrow(n)
	}
	if end := u.leaveGoFrame(n, u.regs[regSP]); end != 0 || !n.forced {
		return end
	}
	sp := u.regs[regSP]
	lr, ok := u.mem.word(sp)
	if !ok {
		return Unreadable
	}
	u.set(regLR, lr)
	u.regs[regSP] = sp + pushedLR
	return 0
}

// leaveGoFrame leaves a frame of known size at sp. A frame that has a size has the return address in its lowest word, and
// the caller's frame pointer below that. Both are written before the stack pointer is moved down, or by the same instruction,
// and read before it is moved up. Without a frame the return address is in LR.
func (u *Unwinder) leaveGoFrame(n *plan, sp uint64) End {
	if n.delta == 0 {
		lr, ok := u.register(regLR)
		if !ok {
			return NoRegister
		}
		u.toReturn(lr)
		return 0
	}
	addr, ok := u.mem.word(sp)
	if !ok {
		return Unreadable
	}
	if fp, ok := u.mem.copied(sp - 8); ok {
		u.setFP(fp, true)
	} else {
		u.forget(regFP)
	}
	u.regs[regSP] = sp + uint64(int64(n.delta))
	u.toReturn(addr)
	return 0
}

// leaveGoFP leaves a function that has changed to another stack: its frame pointer still points below the return address.
func (u *Unwinder) leaveGoFP(n *plan) End {
	fp, ok := u.register(regFP)
	if !ok {
		return NoRegister
	}
	return u.leaveGoFrame(n, fp+8)
}

// leaveGoSwitch goes from the system stack back to its goroutine: by the frame pointer, which points into the frame that the
// function has on the goroutine's stack, or to the place that the runtime saved in g.sched.
func (u *Unwinder) leaveGoSwitch(n *plan) End {
	if fp, ok := u.register(regFP); ok && fp&7 == 0 {
		before := u.registers
		if u.leaveGoFrame(n, fp+8) == 0 && u.returns(u.regs[regPC]) {
			return 0
		}
		u.registers = before
	}
	g, ok := u.goCurrent(0)
	if !ok {
		return Whole // all of it that is on the system stack
	}
	sp, ok := u.mem.word(g + gSchedSP)
	if !ok {
		return Unreadable
	}
	return u.leaveGoFrame(n, sp)
}

// leaveGoGrow leaves morestack, which runs on the system stack, for the function
// whose prologue found its stack too small.
func (u *Unwinder) leaveGoGrow(n *plan) End {
	g, ok := u.goCurrent(0)
	if !ok {
		return Whole // all of it that is on the system stack
	}
	sp, ok1 := u.mem.word(g + gSchedSP)
	pc, ok2 := u.mem.word(g + gSchedPC)
	if !ok1 || !ok2 {
		return Unreadable
	}
	u.forget(regFP)
	u.regs[regSP] = sp
	u.toReturn(pc)
	for _, at := range gSchedLR { // the function has no frame yet
		if lr, ok := u.mem.word(g + at); ok && u.returns(a64.Strip(lr)) {
			u.set(regLR, lr)
			break
		}
	}
	return 0
}
