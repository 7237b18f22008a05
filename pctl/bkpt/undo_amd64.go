package bkpt

import (
	"math/bits"

	"ptools/internal/ptrace"
)

// Undo turns the registers of a thread that has just executed the instruction
// into those it had before: for traps that stop threads behind it. It reports
// false, and changes nothing, for instructions that are not emulated or whose
// loss is more than one register. lost is the register whose old value cannot be
// had from the new ones, numbered as instructions do, or -1: it keeps its new
// value. Arithmetic flags and memory also stay as the instruction left them.
//
// Emulate does the opposite, for a client that changes what Undo has shown.
func (p *Plan) Undo(r *ptrace.Regs) (lost int, ok bool) {
	if p.kind != Emulate {
		return -1, false
	}
	a, lost := &p.act, -1
	switch a.op {
	case opXchg, opPopf:
		if a.op == opPopf || a.dst.w == 4 {
			return -1, false
		}
		d, s := p.regValue(r, a.dst), p.regValue(r, a.src)
		setReg(r, a.dst, s)
		setReg(r, a.src, d)
	case opPush, opPushf, opPop, opCall, opRet, opLeave, opLoop:
		lost = p.undoStack(r)
	case opMove, opMoveSX, opCmov, opSetcc, opSignOut, opLea, opALU, opInc, opDec, opNeg, opNot, opBswap:
		lost = p.undoResult(r)
	}
	r.Rip = p.addr
	return lost, true
}

// undoStack moves the stack pointer, or the loop counter, back.
func (p *Plan) undoStack(r *ptrace.Regs) (lost int) {
	a := &p.act
	switch a.op {
	case opPush, opPushf, opCall:
		r.Rsp += 8
	case opRet:
		r.Rsp -= 8 + a.imm
	case opPop:
		if a.dst.n == rsp {
			return rsp
		}
		r.Rsp -= 8
		return int(a.dst.n)
	case opLeave:
		r.Rbp = r.Rsp - 8
		return rsp
	case opLoop:
		if a.sub != 3 {
			r.Rcx++
		}
	}
	return -1
}

// undoResult inverts what was computed into a register, if it can be: sums,
// differences and complements of the whole register.
func (p *Plan) undoResult(r *ptrace.Regs) (lost int) {
	a := &p.act
	kept := a.op == opALU && a.sub == aluCmp || a.dst.kind == argMem ||
		a.dst == a.src && a.op == opMove && a.dst.w != 4
	if kept {
		return -1
	}
	v, ok := p.invert(r)
	if a.dst.w == 4 || !ok {
		return int(a.dst.n)
	}
	setReg(r, a.dst, v)
	return -1
}

// invert returns the old value of the destination. The other operand must not
// have changed with it.
func (p *Plan) invert(r *ptrace.Regs) (uint64, bool) {
	a := &p.act
	v := p.regValue(r, a.dst)
	switch a.op {
	case opInc:
		return v - 1, true
	case opDec:
		return v + 1, true
	case opNeg:
		return -v, true
	case opNot:
		return ^v, true
	case opBswap:
		return bits.ReverseBytes64(v), true
	case opLea:
		if a.dst.w != 8 || a.ea.base != a.dst.n || a.ea.index == a.dst.n {
			return 0, false
		}
		return v - (a.ea.offset(r) - v), true
	case opALU:
		if a.src.kind == argMem || a.src.kind != argImm && a.src.n == a.dst.n {
			return 0, false
		}
		s := p.regValue(r, a.src)
		switch a.sub {
		case aluAdd:
			return v - s, true
		case aluSub:
			return v + s, true
		case aluXor:
			return v ^ s, true
		}
	}
	return 0, false
}
