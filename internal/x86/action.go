package x86

// An op is what an emulated instruction does. It is chosen once, when the plan
// is made; Emulate only dispatches on it.
type op uint8

const (
	opNone op = iota
	opNop
	opMove   // mov, movzx, the cbw family
	opMoveSX // movsx, movsxd, the cbw family
	opLea
	opALU  // add or adc sbb and sub xor cmp, by action.sub
	opTest //
	opInc
	opDec
	opNeg
	opNot
	opSignOut // cwd, cdq, cqo
	opXchg
	opBswap
	opSetcc // condition in action.sub
	opCmov
	opFlag // clc stc cmc cld std, by action.sub
	opPush
	opPop
	opPushf
	opPopf
	opLeave
	opCall // absolute target in imm, or through src
	opJmp
	opJcc
	opLoop // loopne, loope, loop, jrcxz, by action.sub
	opRet
)

// ALU operations, numbered as the processor's group 1 does.
const (
	aluAdd = iota
	aluOr
	aluAdc
	aluSbb
	aluAnd
	aluSub
	aluXor
	aluCmp
)

type argKind uint8

const (
	argNone argKind = iota
	argReg
	argHigh // ah, ch, dh, bh
	argMem  // at action.ea
	argImm  // action.imm
)

// arg is an operand: n numbers a register, w is the width in bytes.
type arg struct {
	kind argKind
	n, w uint8
}

// noReg stands for a missing base or index register.
const noReg = 0xff

// ea is a memory operand: base + index<<shift + disp, in segment seg.
type ea struct {
	base, index, shift uint8
	seg                byte
	disp               uint64
}

// action is the meaning of an instruction that can be emulated.
type action struct {
	op       op
	sub      uint8
	dst, src arg
	ea       ea
	imm      uint64
}

// storable reports whether a store may be made from outside. A copy by the kernel
// moves whole aligned words in one piece. Narrower operands it moves in one piece
// only on some processors, so another thread could see half a store. On the stack
// no other thread looks.
func (a *action) storable() bool {
	return a.dst.kind != argMem || a.dst.w == 8 || a.ea.onStack()
}

// onStack reports whether the operand is in the frame.
func (e *ea) onStack() bool { return e.base == rsp || e.base == rbp }

// usesMemory reports whether emulation reads or writes memory.
func (a *action) usesMemory() bool {
	switch a.op {
	case opPush, opPop, opLeave, opRet:
		return true
	case opMove, opMoveSX, opCmov, opALU, opTest:
		return a.dst.kind == argMem || a.src.kind == argMem
	}
	return false
}

// address returns the memory operand that ModRM, SIB and displacement describe. next is
// the address behind the instruction.
func (in *inst) address(next uint64) ea {
	e := ea{base: noReg, index: noReg, seg: in.seg, disp: uint64(int64(in.disp))}
	if in.ripRel() {
		e.disp += next
		return e
	}
	if !in.hasSIB() {
		e.base = in.modrm&7 | in.rex&rexB<<3
		return e
	}
	e.shift = in.sib >> 6
	if n := in.sib>>3&7 | in.rex&rexX<<2; n != rsp {
		e.index = n
	}
	if in.sib&7 != rbp || in.mod() != 0 {
		e.base = in.sib&7 | in.rex&rexB<<3
	}
	return e
}

// offset is the operand's address without its segment's base.
func (e *ea) offset(r *Regs) uint64 {
	addr := e.disp
	if e.base != noReg {
		addr += *r.gpr(e.base)
	}
	if e.index != noReg {
		addr += *r.gpr(e.index) << e.shift
	}
	return addr
}

// linear is the operand's address.
func (e *ea) linear(r *Regs) uint64 {
	addr := e.offset(r)
	switch e.seg {
	case 0x64:
		addr += r.FsBase
	case 0x65:
		addr += r.GsBase
	}
	return addr
}
