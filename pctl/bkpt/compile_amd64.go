package bkpt

// compile finds the meaning of an instruction that can be emulated. It accepts
// an encoding only if every prefix in it is one whose effect the differential
// test has compared with the processor's; all others run as a copy.
func (in *insn) compile(next uint64) (action, bool) {
	var a action
	if in.enc != legacy || in.lock || in.adSize || in.bothRep {
		return a, false
	}
	if in.rep != 0 {
		return a, in.repeated(&a, next)
	}
	if in.mp == map0F {
		return a, in.compileTwo(&a, next)
	}
	if in.mp != mapOne {
		return a, false
	}
	if in.op < 0x40 && in.op&7 < 6 {
		return a, in.compileALU(&a, next)
	}
	if in.isBranch() {
		return a, in.compileBranch(&a, next)
	}
	return a, in.compileMove(&a, next) || in.compileGroup(&a, next) || in.compileStack(&a, next)
}

// repeated compiles what F2 and F3 mean something else for, or nothing: pause,
// endbr, and branches, where they are a bound check of the past or padding.
func (in *insn) repeated(a *action, next uint64) bool {
	switch {
	case in.mp == mapOne && in.op == 0x90 && in.rep == 0xf3 && in.rex == 0 && !in.opSize:
		a.op = opNop // pause
	case in.mp == map0F && in.op == 0x1e && in.rep == 0xf3 && (in.modrm == 0xfa || in.modrm == 0xfb):
		a.op = opNop // endbr64, endbr32
	case in.isBranch() && (in.mp != mapOne || in.op&^3 != 0xe0): // F3 turns a loopne into a loope
		return in.compileBranch(a, next)
	}
	return a.op != opNone
}

// isBranch reports a near branch of any kind.
func (in *insn) isBranch() bool {
	if in.enc != legacy {
		return false
	}
	switch in.mp {
	case mapOne:
		switch {
		case in.op&0xf0 == 0x70, in.op >= 0xe0 && in.op <= 0xe3, in.op == 0xe8, in.op == 0xe9,
			in.op == 0xeb, in.op == 0xc2, in.op == 0xc3:
			return true
		case in.op == 0xff:
			return in.ext() == 2 || in.ext() == 4
		}
	case map0F:
		return in.op&0xf0 == 0x80
	}
	return false
}

func (in *insn) compileBranch(a *action, next uint64) bool {
	a.imm = next + uint64(in.imm)
	switch {
	case in.mp == map0F, in.op&0xf0 == 0x70:
		a.op, a.sub = opJcc, in.op&15
	case in.op <= 0xc3: // ret: imm is what it drops
		a.op, a.imm = opRet, uint64(uint16(in.imm))
	case in.op <= 0xe3:
		a.op, a.sub = opLoop, in.op&3
	case in.op == 0xe8:
		a.op = opCall
	case in.op == 0xff:
		a.op = opCall
		if in.ext() == 4 {
			a.op = opJmp
		}
		a.src = in.modRM(a, 8, next)
	default:
		a.op = opJmp
	}
	return true
}

// compileALU compiles the eight operations of opcodes 00 to 3F.
func (in *insn) compileALU(a *action, next uint64) bool {
	a.op, a.sub = opALU, in.op>>3
	w := in.byteOr()
	switch in.op & 7 {
	case 0, 1:
		a.dst, a.src = in.modRM(a, w, next), in.modReg(w)
	case 2, 3:
		a.dst, a.src = in.modReg(w), in.modRM(a, w, next)
	default:
		a.dst = arg{kind: argReg, n: rax, w: w}
		in.immArg(a, w)
	}
	return a.dst.kind != argMem || a.sub == aluCmp
}

func (in *insn) immArg(a *action, w uint8) {
	a.src, a.imm = arg{kind: argImm, w: w}, uint64(in.imm)
}

// compileMove compiles data movement in the one-byte map.
func (in *insn) compileMove(a *action, next uint64) bool {
	w := in.byteOr()
	switch in.op {
	case 0x63: // movsxd, without REX.W a plain move
		a.op, a.dst = opMoveSX, in.modReg(in.width())
		a.src = in.modRM(a, 4, next)
		return !in.opSize
	case 0x86, 0x87:
		a.op, a.dst, a.src = opXchg, in.modRM(a, w, next), in.modReg(w)
		return a.dst.kind != argMem
	case 0x88, 0x89:
		a.op, a.dst, a.src = opMove, in.modRM(a, w, next), in.modReg(w)
		return in.storable(a)
	case 0x8a, 0x8b:
		a.op, a.dst, a.src = opMove, in.modReg(w), in.modRM(a, w, next)
	case 0x8d:
		a.op, a.dst, a.src = opLea, in.modReg(w), in.modRM(a, w, next)
		return a.src.kind == argMem
	case 0x98: // cbw, cwde, cdqe
		a.op, a.dst = opMoveSX, arg{argReg, rax, in.width()}
		a.src = arg{argReg, rax, in.width() / 2}
	case 0x99: // cwd, cdq, cqo
		a.op, a.dst, a.src = opSignOut, arg{argReg, rdx, in.width()}, arg{argReg, rax, in.width()}
	case 0xc6, 0xc7:
		a.op, a.dst = opMove, in.modRM(a, w, next)
		in.immArg(a, w)
		return in.ext() == 0 && in.storable(a)
	default:
		return in.compileShort(a)
	}
	return true
}

// compileShort compiles the moves whose register is in the opcode.
func (in *insn) compileShort(a *action) bool {
	switch in.op &^ 7 {
	case 0x90: // xchg with rax; 90 itself is a nop unless REX.B says r8
		w := in.width()
		a.op, a.dst, a.src = opXchg, in.opReg(w), arg{argReg, rax, w}
		if a.dst.n == rax {
			a.op = opNop
		}
	case 0xb0:
		a.op, a.dst = opMove, in.opReg(1)
		in.immArg(a, 1)
	case 0xb8:
		a.op, a.dst = opMove, in.opReg(in.width())
		in.immArg(a, in.width())
	default:
		return false
	}
	return true
}

// storable reports whether a store may be made from outside. A copy by the
// kernel moves whole aligned words in one piece, narrower operands not on
// every processor: another thread could see half a store. On the stack nobody
// looks.
func (in *insn) storable(a *action) bool {
	return a.dst.kind != argMem || a.dst.w == 8 || a.ea.onStack()
}

// onStack reports an operand in the frame.
func (e *ea) onStack() bool { return e.base == rsp || e.base == rbp }

// compileGroup compiles arithmetic outside the first 64 opcodes.
func (in *insn) compileGroup(a *action, next uint64) bool {
	w := in.byteOr()
	switch in.op {
	case 0x80, 0x81, 0x83:
		a.op, a.sub, a.dst = opALU, in.ext(), in.modRM(a, w, next)
		in.immArg(a, w)
		return a.dst.kind != argMem || a.sub == aluCmp
	case 0x84, 0x85:
		a.op, a.dst, a.src = opTest, in.modRM(a, w, next), in.modReg(w)
	case 0xa8, 0xa9:
		a.op, a.dst = opTest, arg{argReg, rax, w}
		in.immArg(a, w)
	case 0xf6, 0xf7:
		a.dst = in.modRM(a, w, next)
		switch in.ext() {
		case 0:
			a.op = opTest
			in.immArg(a, w)
			return true
		case 2:
			a.op = opNot
		case 3:
			a.op = opNeg
		}
		return a.op != opNone && a.dst.kind != argMem
	case 0xfe, 0xff:
		a.dst = in.modRM(a, w, next)
		switch in.ext() {
		case 0:
			a.op = opInc
		case 1:
			a.op = opDec
		}
		return a.op != opNone && a.dst.kind != argMem
	case 0xf5, 0xf8, 0xf9, 0xfc, 0xfd:
		a.op, a.sub = opFlag, in.op
	default:
		return false
	}
	return true
}

// compileStack compiles pushes and pops of whole words.
func (in *insn) compileStack(a *action, next uint64) bool {
	*a = action{}
	if in.opSize {
		return false
	}
	switch {
	case in.op&^7 == 0x50:
		a.op, a.src = opPush, in.opReg(8)
	case in.op&^7 == 0x58:
		a.op, a.dst = opPop, in.opReg(8)
	case in.op == 0x68 || in.op == 0x6a:
		a.op = opPush
		in.immArg(a, 8)
	case in.op == 0xff && in.ext() == 6:
		a.op, a.src = opPush, in.modRM(a, 8, next)
	case in.op == 0x9c:
		a.op = opPushf
	case in.op == 0x9d:
		a.op = opPopf
	case in.op == 0xc9:
		a.op = opLeave
	default:
		return false
	}
	return true
}

// compileTwo compiles the 0F map.
func (in *insn) compileTwo(a *action, next uint64) bool {
	w := in.width()
	switch {
	case in.op == 0x1f, in.op == 0x18 && in.mod() != 3:
		a.op = opNop // a prefetch never faults
	case in.op&0xf0 == 0x40:
		a.op, a.sub, a.dst = opCmov, in.op&15, in.modReg(w)
		a.src = in.modRM(a, w, next)
	case in.op&0xf0 == 0x80:
		return in.compileBranch(a, next)
	case in.op&0xf0 == 0x90:
		a.op, a.sub, a.dst = opSetcc, in.op&15, in.modRM(a, 1, next)
		return a.dst.kind != argMem
	case in.op&^9 == 0xb6: // B6 B7 movzx, BE BF movsx
		a.op = opMove
		if in.op&8 != 0 {
			a.op = opMoveSX
		}
		a.dst = in.modReg(w)
		a.src = in.modRM(a, 1+in.op&1, next)
	case in.op&^7 == 0xc8:
		a.op, a.dst = opBswap, in.opReg(w)
		return w != 2 // undefined
	default:
		return false
	}
	return true
}
