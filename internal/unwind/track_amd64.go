package unwind

import (
	"golang.org/x/arch/x86/x86asm"

	"ptools/internal/x86"
)

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

// vectorLength returns the length of an AVX or AVX-512 instruction, which x86asm
// does not know, or 0 if code begins with another. None of them touches rsp.
func vectorLength(code []byte) int {
	if len(code) == 0 || code[0] != 0xc5 && code[0] != 0xc4 && code[0] != 0x62 {
		return 0
	}
	return x86.Length(code)
}
