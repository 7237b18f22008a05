package x86

// compiler finds the meaning of an instruction that can be emulated.
type compiler struct {
	*inst
	next uint64 // the address behind it
	a    action
}

// compile accepts an encoding only if the differential test has compared the effect of
// all its prefixes with the processor's. All other instructions run as a copy.
func (in *inst) compile(next uint64) (action, bool) {
	c := compiler{inst: in, next: next}
	ok := in.enc == legacy && !in.has(prefixLock|prefixAdSize|prefixBothRep) && c.any()
	return c.a, ok
}

func (c *compiler) any() bool {
	switch {
	case c.rep != 0:
		return c.repeated()
	case c.mp == map0F:
		return c.two()
	case c.mp != mapOne:
		return false
	case c.op < 0x40 && c.op&7 < 6:
		return c.alu()
	case c.isBranch():
		return c.branch()
	}
	return c.move() || c.group() || c.stack()
}

// repeated compiles the instructions for which F2 and F3 mean something other than a
// repetition, or nothing: pause, endbr, and branches. For branches they are padding, or a
// bound check that processors do not have any more.
func (c *compiler) repeated() bool {
	switch {
	case c.is(0x90) && c.rep == 0xf3 && c.rex == 0 && !c.has(prefixOpSize):
		c.a.op = opNop // pause
	case c.mp == map0F && c.op == 0x1e && c.rep == 0xf3 && (c.modrm == 0xfa || c.modrm == 0xfb):
		c.a.op = opNop // endbr64, endbr32
	case c.isBranch() && (c.mp != mapOne || c.op&^3 != 0xe0): // F3 turns a loopne into a loope
		return c.branch()
	}
	return c.a.op != opNone
}

func (c *compiler) branch() bool {
	a := &c.a
	a.imm = c.next + uint64(c.imm)
	switch {
	case c.mp == map0F, c.op&0xf0 == 0x70:
		a.op, a.sub = opJcc, c.op&15
	case c.op <= 0xc3: // ret: imm is how many bytes it drops
		a.op, a.imm = opRet, uint64(uint16(c.imm))
	case c.op <= 0xe3:
		a.op, a.sub = opLoop, c.op&3
	case c.op == 0xe8:
		a.op = opCall
	case c.op == 0xff:
		a.op = opCall
		if c.ext() == 4 {
			a.op = opJmp
		}
		a.src = c.modRM(8)
	default:
		a.op = opJmp
	}
	return true
}

// alu compiles the eight operations of opcodes 00 to 3F.
func (c *compiler) alu() bool {
	a, w := &c.a, c.byteOr()
	a.op, a.sub = opALU, c.op>>3
	switch c.op & 7 {
	case 0, 1:
		a.dst, a.src = c.modRM(w), c.modReg(w)
	case 2, 3:
		a.dst, a.src = c.modReg(w), c.modRM(w)
	default:
		a.dst, a.src = accumulator(w), c.immediateArg(w)
	}
	return a.dst.kind != argMem || a.sub == aluCmp
}

// move compiles data movement in the one-byte map.
func (c *compiler) move() bool {
	a, w := &c.a, c.byteOr()
	switch c.op {
	case 0x63: // movsxd, without REX.W a plain move
		a.op, a.dst, a.src = opMoveSX, c.modReg(c.width()), c.modRM(4)
		return !c.has(prefixOpSize)
	case 0x86, 0x87:
		a.op, a.dst, a.src = opXchg, c.modRM(w), c.modReg(w)
		return a.dst.kind != argMem
	case 0x88, 0x89:
		a.op, a.dst, a.src = opMove, c.modRM(w), c.modReg(w)
		return a.storable()
	case 0x8a, 0x8b:
		a.op, a.dst, a.src = opMove, c.modReg(w), c.modRM(w)
	case 0x8d:
		a.op, a.dst, a.src = opLea, c.modReg(w), c.modRM(w)
		return a.src.kind == argMem
	case 0x98: // cbw, cwde, cdqe
		a.op, a.dst, a.src = opMoveSX, accumulator(c.width()), accumulator(c.width()/2)
	case 0x99: // cwd, cdq, cqo
		a.op, a.dst, a.src = opSignOut, arg{argReg, rdx, c.width()}, accumulator(c.width())
	case 0xc6, 0xc7:
		a.op, a.dst, a.src = opMove, c.modRM(w), c.immediateArg(w)
		return c.ext() == 0 && a.storable()
	default:
		return c.short()
	}
	return true
}

// short compiles the moves whose register is in the opcode.
func (c *compiler) short() bool {
	a, w := &c.a, c.width()
	switch c.op &^ 7 {
	case 0x90: // xchg with rax; 90 itself is a nop unless REX.B says r8
		a.op, a.dst, a.src = opXchg, c.opReg(w), accumulator(w)
		if a.dst.n == rax {
			a.op = opNop
		}
	case 0xb0:
		a.op, a.dst, a.src = opMove, c.opReg(1), c.immediateArg(1)
	case 0xb8:
		a.op, a.dst, a.src = opMove, c.opReg(w), c.immediateArg(w)
	default:
		return false
	}
	return true
}

// group compiles arithmetic outside the first 64 opcodes.
func (c *compiler) group() bool {
	a, w := &c.a, c.byteOr()
	switch c.op {
	case 0x80, 0x81, 0x83:
		a.op, a.sub, a.dst, a.src = opALU, c.ext(), c.modRM(w), c.immediateArg(w)
		return a.dst.kind != argMem || a.sub == aluCmp
	case 0x84, 0x85:
		a.op, a.dst, a.src = opTest, c.modRM(w), c.modReg(w)
	case 0xa8, 0xa9:
		a.op, a.dst, a.src = opTest, accumulator(w), c.immediateArg(w)
	case 0xf6, 0xf7:
		a.dst = c.modRM(w)
		switch c.ext() {
		case 0:
			a.op, a.src = opTest, c.immediateArg(w)
			return true
		case 2:
			a.op = opNot
		case 3:
			a.op = opNeg
		}
		return a.op != opNone && a.dst.kind != argMem
	case 0xfe, 0xff:
		a.dst = c.modRM(w)
		switch c.ext() {
		case 0:
			a.op = opInc
		case 1:
			a.op = opDec
		}
		return a.op != opNone && a.dst.kind != argMem
	case 0xf5, 0xf8, 0xf9, 0xfc, 0xfd:
		a.op, a.sub = opFlag, c.op
	default:
		return false
	}
	return true
}

// stack compiles pushes and pops of whole words.
func (c *compiler) stack() bool {
	c.a = action{}
	if c.has(prefixOpSize) {
		return false
	}
	a := &c.a
	switch {
	case c.op&^7 == 0x50:
		a.op, a.src = opPush, c.opReg(8)
	case c.op&^7 == 0x58:
		a.op, a.dst = opPop, c.opReg(8)
	case c.op == 0x68 || c.op == 0x6a:
		a.op, a.src = opPush, c.immediateArg(8)
	case c.op == 0xff && c.ext() == 6:
		a.op, a.src = opPush, c.modRM(8)
	case c.op == 0x9c:
		a.op = opPushf
	case c.op == 0x9d:
		a.op = opPopf
	case c.op == 0xc9:
		a.op = opLeave
	default:
		return false
	}
	return true
}

// two compiles the 0F map.
func (c *compiler) two() bool {
	a, w := &c.a, c.width()
	switch {
	case c.op == 0x1f, c.op == 0x18 && c.mod() != 3:
		a.op = opNop // a prefetch never faults
	case c.op&0xf0 == 0x40:
		a.op, a.sub, a.dst, a.src = opCmov, c.op&15, c.modReg(w), c.modRM(w)
	case c.op&0xf0 == 0x80:
		return c.branch()
	case c.op&0xf0 == 0x90:
		a.op, a.sub, a.dst = opSetcc, c.op&15, c.modRM(1)
		return a.dst.kind != argMem
	case c.op&^9 == 0xb6: // B6 B7 movzx, BE BF movsx
		a.op, a.dst, a.src = opMove, c.modReg(w), c.modRM(1+c.op&1)
		if c.op&8 != 0 {
			a.op = opMoveSX
		}
	case c.op&^7 == 0xc8:
		a.op, a.dst = opBswap, c.opReg(w)
		return w != 2 // undefined
	default:
		return false
	}
	return true
}

// width is the operand size of an opcode whose w bit is set.
func (c *compiler) width() uint8 {
	switch {
	case c.wide():
		return 8
	case c.has(prefixOpSize):
		return 2
	}
	return 4
}

// byteOr is the operand size of a pair of opcodes whose even one works on bytes.
func (c *compiler) byteOr() uint8 {
	if c.op&1 == 0 {
		return 1
	}
	return c.width()
}

// accumulator is rax, eax, ax or al.
func accumulator(w uint8) arg { return arg{argReg, rax, w} }

// immediateArg is the immediate.
func (c *compiler) immediateArg(w uint8) arg {
	c.a.imm = uint64(c.imm)
	return arg{kind: argImm, w: w}
}

// register is register n of width w. Without REX the byte registers 4 to 7 are
// the second bytes of the first four.
func (c *compiler) register(n, w uint8) arg {
	if w == 1 && c.rex == 0 && n >= 4 {
		return arg{argHigh, n - 4, 1}
	}
	return arg{argReg, n, w}
}

// modReg is the operand in ModRM.reg.
func (c *compiler) modReg(w uint8) arg {
	return c.register(c.ext()|c.rex&rexR<<1, w)
}

// modRM is the operand in ModRM.rm. The address of a memory operand is stored in the action.
func (c *compiler) modRM(w uint8) arg {
	if c.mod() == 3 {
		return c.register(c.modrm&7|c.rex&rexB<<3, w)
	}
	c.a.ea = c.address(c.next)
	return arg{kind: argMem, w: w}
}

// opReg is the operand in the low bits of the opcode.
func (c *compiler) opReg(w uint8) arg {
	return c.register(c.op&7|c.rex&rexB<<3, w)
}
