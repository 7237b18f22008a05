package bkpt

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

// Register numbers in instruction encoding.
const (
	rax = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
)

// width is the operand size of an opcode whose w bit is set.
func (in *insn) width() uint8 {
	switch {
	case in.rex&rexW != 0:
		return 8
	case in.opSize:
		return 2
	}
	return 4
}

// byteOr is the operand size of a pair of opcodes whose even one works on bytes.
func (in *insn) byteOr() uint8 {
	if in.op&1 == 0 {
		return 1
	}
	return in.width()
}

// regArg is register n of width w. Without REX the byte registers 4 to 7 are
// the second bytes of the first four.
func (in *insn) regArg(n, w uint8) arg {
	if w == 1 && in.rex == 0 && n >= 4 {
		return arg{kind: argHigh, n: n - 4, w: 1}
	}
	return arg{kind: argReg, n: n, w: w}
}

// modReg is the operand in ModRM.reg.
func (in *insn) modReg(w uint8) arg {
	return in.regArg(in.ext()|in.rex&rexR<<1, w)
}

// modRM is the operand in ModRM.rm; a memory operand's place goes to a.ea.
func (in *insn) modRM(a *action, w uint8, next uint64) arg {
	if in.mod() == 3 {
		return in.regArg(in.modrm&7|in.rex&rexB<<3, w)
	}
	a.ea = in.address(next)
	return arg{kind: argMem, w: w}
}

// opReg is the operand in the low bits of the opcode.
func (in *insn) opReg(w uint8) arg {
	return in.regArg(in.op&7|in.rex&rexB<<3, w)
}

// address is the memory operand of ModRM, SIB and displacement.
func (in *insn) address(next uint64) ea {
	e := ea{base: noReg, index: noReg, seg: in.seg, disp: uint64(int64(in.disp))}
	if in.ripRel() {
		e.disp += next
		return e
	}
	if !in.hasSIB {
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
