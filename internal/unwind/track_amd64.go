package unwind

import (
	"golang.org/x/arch/x86/x86asm"

	"ptools/internal/x86"
)

// follow accounts for an instruction that is not a branch. It reports false for an
// instruction after which execution does not continue.
func (t *track) follow(in *x86asm.Inst) bool {
	switch in.Op {
	case x86asm.PUSH, x86asm.PUSHFQ:
		t.sp.off -= 8
		if in.Args[0] == x86asm.RBP && !t.pushed && !t.fp.known && t.sp.known {
			t.pushed, t.saved = true, t.sp
		}
	case x86asm.POP:
		if in.Args[0] == x86asm.RBP {
			t.loadRBP()
		}
		t.sp.off += 8
		t.sp.known = t.sp.known && in.Args[0] != x86asm.RSP
	case x86asm.POPFQ:
		t.sp.off += 8
	case x86asm.LEAVE:
		t.toRBP(0)
		t.loadRBP()
		t.sp.off += 8
	case x86asm.ENTER:
		t.sp.known = false
	case x86asm.UD1, x86asm.UD2, x86asm.HLT, x86asm.INT, x86asm.IRET, x86asm.IRETQ:
		return false
	default:
		switch in.Args[0] {
		case x86asm.RSP:
			t.setRSP(in)
		case x86asm.RBP:
			t.setRBP(in)
		case x86asm.ESP, x86asm.SP, x86asm.SPB:
			t.sp.known = t.sp.known && compares(in)
		}
	}
	return true
}

// compares reports whether in only reads its first operand.
func compares(in *x86asm.Inst) bool { return in.Op == x86asm.CMP || in.Op == x86asm.TEST }

// loadRBP records that rbp is loaded from where rsp points.
func (t *track) loadRBP() {
	t.fp.known, t.pushed = false, false
	if t.sp.known {
		t.loaded, t.saved = true, t.sp
	}
}

// toRBP sets rsp to rbp plus off.
func (t *track) toRBP(off int64) {
	switch {
	case t.fp.known:
		t.sp = relative{off: t.fp.off + off, reg: t.fp.reg, known: true}
	case t.loaded || t.pushed:
		t.sp.known = false // not the rbp that the walk began with
	default:
		t.sp = relative{off: off, reg: regRBP, known: true}
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
			t.sp.off += int64(imm)
			return
		}
	case x86asm.LEA:
		if mem, ok := in.Args[1].(x86asm.Mem); ok && mem.Index == 0 {
			switch mem.Base {
			case x86asm.RSP:
				t.sp.off += mem.Disp
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
	t.sp.known = false
}

// setRBP accounts for an instruction whose first operand is rbp.
func (t *track) setRBP(in *x86asm.Inst) {
	switch {
	case compares(in):
	case in.Op == x86asm.MOV && in.Args[1] == x86asm.RSP && t.sp.known:
		t.fp = t.sp
	case in.Op == x86asm.LEA:
		mem, ok := in.Args[1].(x86asm.Mem)
		t.fp = relative{off: t.sp.off + mem.Disp, reg: t.sp.reg, known: ok && mem.Base == x86asm.RSP && mem.Index == 0 && t.sp.known}
	default:
		t.fp.known = false // rbp is an ordinary register here
	}
}

// vectorLength returns the length of an AVX or AVX-512 instruction, which x86asm
// does not know, or 0 if code begins with another instruction. None of them
// changes rsp.
func vectorLength(code []byte) int {
	if len(code) == 0 || code[0] != 0xc5 && code[0] != 0xc4 && code[0] != 0x62 {
		return 0
	}
	return x86.Length(code)
}
