package bkpt

import (
	"ptools/internal/ptrace"
)

// gpr returns general register n, numbered as instructions do.
func gpr(r *ptrace.Regs, n uint8) *uint64 {
	switch n & 15 {
	case rax:
		return &r.Rax
	case rcx:
		return &r.Rcx
	case rdx:
		return &r.Rdx
	case rbx:
		return &r.Rbx
	case rsp:
		return &r.Rsp
	case rbp:
		return &r.Rbp
	case rsi:
		return &r.Rsi
	case rdi:
		return &r.Rdi
	case 8:
		return &r.R8
	case 9:
		return &r.R9
	case 10:
		return &r.R10
	case 11:
		return &r.R11
	case 12:
		return &r.R12
	case 13:
		return &r.R13
	case 14:
		return &r.R14
	}
	return &r.R15
}

// mask covers w bytes.
func mask(w uint8) uint64 { return ^uint64(0) >> (64 - 8*w) }

// extend extends the sign of a value of w bytes.
func extend(v uint64, w uint8) int64 {
	s := 64 - 8*w
	return int64(v<<s) >> s
}

// value returns an operand, from memory too.
func (p *Plan) value(r *ptrace.Regs, m Memory, a arg) (uint64, error) {
	if a.kind == argMem {
		return p.load(m, p.act.ea.linear(r), a.w)
	}
	return p.regValue(r, a), nil
}

// regValue returns a register or immediate operand.
func (p *Plan) regValue(r *ptrace.Regs, a arg) uint64 {
	switch a.kind {
	case argReg:
		return *gpr(r, a.n) & mask(a.w)
	case argHigh:
		return *gpr(r, a.n) >> 8 & 0xff
	case argImm:
		return p.act.imm & mask(a.w)
	}
	return 0
}

// setReg writes a register operand: 32 bits clear the upper half, 8 and 16
// bits leave the rest.
func setReg(r *ptrace.Regs, a arg, v uint64) {
	x := gpr(r, a.n)
	switch {
	case a.kind == argHigh:
		*x = *x&^0xff00 | v&0xff<<8
	case a.w >= 4:
		*x = v & mask(a.w)
	default:
		*x = *x&^mask(a.w) | v&mask(a.w)
	}
}

// offset is the operand's address without its segment's base.
func (e *ea) offset(r *ptrace.Regs) uint64 {
	addr := e.disp
	if e.base != noReg {
		addr += *gpr(r, e.base)
	}
	if e.index != noReg {
		addr += *gpr(r, e.index) << e.shift
	}
	return addr
}

// linear is the operand's address.
func (e *ea) linear(r *ptrace.Regs) uint64 {
	addr := e.offset(r)
	switch e.seg {
	case 0x64:
		addr += r.FsBase
	case 0x65:
		addr += r.GsBase
	}
	return addr
}
