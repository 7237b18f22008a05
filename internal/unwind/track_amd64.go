package unwind

import "golang.org/x/arch/x86/x86asm"

// follow accounts for an instruction that is no branch. It reports false for one that
// nothing follows.
func (t *track) follow(in *x86asm.Inst) bool {
	switch in.Op {
	case x86asm.PUSH, x86asm.PUSHFQ:
		t.delta -= 8
		if in.Args[0] == x86asm.RBP && !t.pushed && !t.fpSet && !t.lost {
			t.pushed, t.rbpReg, t.rbpOff = true, t.reg, t.delta
		}
	case x86asm.POP:
		if in.Args[0] == x86asm.RBP {
			t.loadRBP()
		}
		t.delta += 8
		t.lost = t.lost || in.Args[0] == x86asm.RSP
	case x86asm.POPFQ:
		t.delta += 8
	case x86asm.LEAVE:
		t.toRBP(0)
		t.loadRBP()
		t.delta += 8
	case x86asm.ENTER:
		t.lost = true
	case x86asm.UD1, x86asm.UD2, x86asm.HLT, x86asm.INT, x86asm.IRET, x86asm.IRETQ:
		return false
	default:
		switch in.Args[0] {
		case x86asm.RSP:
			t.setRSP(in)
		case x86asm.RBP:
			t.setRBP(in)
		case x86asm.ESP, x86asm.SP, x86asm.SPB:
			t.lost = t.lost || !compares(in)
		}
	}
	return true
}

// compares reports whether in only looks at its first operand.
func compares(in *x86asm.Inst) bool { return in.Op == x86asm.CMP || in.Op == x86asm.TEST }

// loadRBP notes that rbp is loaded from where rsp points.
func (t *track) loadRBP() {
	t.fpSet, t.pushed = false, false
	if !t.lost {
		t.loaded, t.rbpReg, t.rbpOff = true, t.reg, t.delta
	}
}

// toRBP makes rsp what rbp is, plus off.
func (t *track) toRBP(off int64) {
	switch {
	case t.fpSet:
		t.reg, t.delta, t.lost = t.fpReg, t.fpOff+off, false
	case t.loaded || t.pushed:
		t.lost = true // not the rbp that the walk began with
	default:
		t.reg, t.delta, t.lost = regRBP, off, false
	}
}

// setRSP accounts for an instruction whose first operand is rsp.
func (t *track) setRSP(in *x86asm.Inst) {
	switch in.Op {
	case x86asm.ADD, x86asm.SUB:
		if imm, ok := in.Args[1].(x86asm.Imm); ok {
			if in.Op == x86asm.SUB {
				imm = -imm
			}
			t.delta += int64(imm)
			return
		}
	case x86asm.LEA:
		if mem, ok := in.Args[1].(x86asm.Mem); ok && mem.Index == 0 {
			switch mem.Base {
			case x86asm.RSP:
				t.delta += mem.Disp
				return
			case x86asm.RBP:
				t.toRBP(mem.Disp)
				return
			}
		}
	case x86asm.MOV:
		if in.Args[1] == x86asm.RBP {
			t.toRBP(0)
			return
		}
	case x86asm.CMP, x86asm.TEST:
		return
	}
	t.lost = true
}

// setRBP accounts for an instruction whose first operand is rbp.
func (t *track) setRBP(in *x86asm.Inst) {
	switch {
	case compares(in):
	case in.Op == x86asm.MOV && in.Args[1] == x86asm.RSP && !t.lost:
		t.fpSet, t.fpReg, t.fpOff = true, t.reg, t.delta
	case in.Op == x86asm.LEA:
		mem, ok := in.Args[1].(x86asm.Mem)
		t.fpSet = ok && mem.Base == x86asm.RSP && mem.Index == 0 && !t.lost
		t.fpReg, t.fpOff = t.reg, t.delta+mem.Disp
	default:
		t.fpSet = false // an ordinary register here
	}
}

// vectorLength returns the length of an AVX or AVX-512 instruction, which the decoder
// does not know, or 0 if code begins with another. None of them touches rsp.
func vectorLength(code []byte) int {
	if len(code) < maxInst {
		return 0
	}
	var prefix int
	var opmap byte
	switch code[0] {
	case 0xc5:
		prefix, opmap = 2, 1
	case 0xc4:
		prefix, opmap = 3, code[1]&0x1f
	case 0x62:
		prefix, opmap = 4, code[1]&0x07
	default:
		return 0
	}
	op := code[prefix]
	n := prefix + 1
	if opmap == 1 && op == 0x77 { // vzeroupper
		return n
	}
	n += operandLength(code[n:])
	imm := opmap == 3
	if opmap == 1 {
		imm = op >= 0x70 && op <= 0x73 || op == 0xc2 || op >= 0xc4 && op <= 0xc6
	}
	if imm {
		n++
	}
	return n
}

// operandLength returns the length of ModRM, SIB and displacement. EVEX changes
// what a short displacement counts, not its length.
func operandLength(b []byte) int {
	mod, rm := b[0]>>6, b[0]&7
	n := 1
	if mod == 3 {
		return n
	}
	if rm == 4 {
		n++
		if mod == 0 && b[1]&7 == 5 {
			return n + 4
		}
	}
	switch {
	case mod == 1:
		return n + 1
	case mod == 2, mod == 0 && rm == 5:
		return n + 4
	}
	return n
}
