package unwind

// crosscallFrame is the frame size of runtime/cgo's crosscall2 once it has saved the
// registers that belong to its C caller (runtime/cgo/abi_amd64.h): six words below
// the frame pointer, from rbx at the lowest address to rbp.
const crosscallFrame = 8 + 6*8

// crosscallSaves are the registers from the lowest address on.
var crosscallSaves = [...]uint8{regRBX, regR12, regR13, regR14, regR15}

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
	case wayGoC:
		return u.leaveGoC(n)
	case wayGoGrow:
		return u.leaveGoGrow(p, n)
	}
	return u.leaveGoFrame(n, u.regs[regRSP])
}

// leaveGoFrame leaves a frame of known size at sp. Every frame that has a size has the
// caller's rbp in its highest word.
func (u *Unwinder) leaveGoFrame(n *plan, sp uint64) End {
	cfa := sp + uint64(int64(n.delta)) + 8
	if n.delta < 8 {
		pc, ok := u.mem.word(cfa - 8)
		if !ok {
			return Unreadable
		}
		u.regs[regRSP], u.regs[regRIP] = cfa, pc
		return 0
	}
	pc, ok := u.returnAddress(n, cfa-8)
	if !ok {
		return Unreadable
	}
	u.callerRBP(cfa - 16)
	if n.saves {
		for i, r := range crosscallSaves {
			if v, ok := u.mem.word(cfa - 8 - crosscallFrame + 8*uint64(i)); ok {
				u.set(r, v)
			}
		}
	}
	u.regs[regRSP], u.regs[regRIP] = cfa, pc
	return 0
}

// leaveGoFP leaves the frame at rbp, which is reliable in Go code: even in a
// function that has changed to another stack, rbp still points into the previous
// one.
func (u *Unwinder) leaveGoFP(n *plan) End {
	fp, ok := u.register(regRBP)
	if !ok {
		return NoRegister
	}
	if fp == 0 {
		return Whole // cleared at the bottom of a system stack
	}
	pc, ok := u.returnAddress(n, fp+8)
	if !ok {
		return Unreadable
	}
	u.callerRBP(fp)
	u.regs[regRSP], u.regs[regRIP] = fp+16, pc
	return 0
}

// callerRBP restores the frame pointer of the caller. A chain does not have it.
func (u *Unwinder) callerRBP(addr uint64) {
	if u.chain.taken {
		u.forget(regRBP)
		return
	}
	u.setFP(u.mem.word(addr))
}

// leaveGoSwitch goes from the system stack back to its goroutine, by rbp, or to the
// place that the runtime saved in g.sched.
func (u *Unwinder) leaveGoSwitch(n *plan) End {
	before := u.registers
	end := u.leaveGoFP(n)
	if end == 0 && u.returns(u.regs[regRIP]) {
		return 0
	}
	u.registers = before
	g, ok := u.goCurrent(n.tls)
	if !ok {
		return max(end, BadRule)
	}
	sp, _ := u.mem.word(g + gSchedSP)
	return u.leaveGoFrame(n, sp)
}

// leaveGoC leaves cgocallback for the C code that called Go. Its frame exists twice.
// On the system stack C has called it, which is the real frame. On the goroutine's
// stack it looks as if called from where the goroutine went into C. If the real
// frame cannot be found, the other one is used: it skips no Go function.
func (u *Unwinder) leaveGoC(n *plan) End {
	before := u.registers
	end := u.leaveGoFrame(n, u.regs[regRSP])
	if end == 0 && u.isCrosscall(u.regs[regRIP]) {
		return 0 // on the system stack already
	}
	sp := u.goSP
	if sp == 0 {
		m, ok := u.goM(n.tls)
		if !ok {
			return end
		}
		g0, _ := u.mem.word(m)
		sp, _ = u.mem.word(g0 + gSchedSP)
	}
	after := u.registers
	u.registers = before
	if u.leaveGoFrame(n, sp) != 0 || !u.isCrosscall(u.regs[regRIP]) {
		u.registers = after
		return end
	}
	u.goSP, _ = u.mem.word(sp) // cgocallback keeps the previous one there
	return 0
}

// leaveGoGrow leaves morestack, which runs on the system stack, for the function
// whose prologue found its stack too small.
func (u *Unwinder) leaveGoGrow(p *place, n *plan) End {
	if !p.ret { // it may still be on the goroutine's stack
		if pc, ok := u.mem.word(u.regs[regRSP]); ok && u.returns(pc) {
			return u.leaveGoFrame(n, u.regs[regRSP])
		}
	}
	g, ok := u.goCurrent(n.tls)
	if !ok {
		return Whole // all of it that is on the system stack
	}
	sp, ok1 := u.mem.word(g + gSchedSP)
	pc, ok2 := u.mem.word(g + gSchedPC)
	if !ok1 || !ok2 {
		return Unreadable
	}
	u.forget(regRBP)
	u.regs[regRSP], u.regs[regRIP] = sp, pc
	return 0
}
