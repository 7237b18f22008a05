package unwind

import "golang.org/x/arch/x86/x86asm"

// A route is the way out of a function without call frame information, read off its
// code: where the return address will be when the function returns.
type route struct {
	ok  bool
	cfa rule // ruleRegister of rsp or rbp
	rbp bool // the caller's rbp will have been loaded
	at  rule // from there, as an address
}

const (
	// routeSteps bounds the instructions that are followed.
	routeSteps = 192
	// routeJumps bounds the jumps among them.
	routeJumps = 16
)

// A walker follows a function's code from the program counter to its return, as if
// no conditional branch were taken, and keeps track of the stack pointer relative to
// what a register is now. That the wrong branch leads astray is rare: compilers keep
// the stack balanced, and every result is checked against the stack.
type walker struct {
	reg   uint8 // rsp is reg+delta
	delta int64
	fpSet bool // rbp was set to fpReg+fpOff on the way
	fpReg uint8
	fpOff int64
	out   route
	jumps int
}

// walkOut decodes the code at pc, in mapping m, and before limit.
func (u *Unwinder) walkOut(m *Mapping, pc, limit uint64) route {
	w := walker{reg: regRSP}
	code, at := u.readCode(m, pc, codeWindow), pc
	for range routeSteps {
		if pc >= limit {
			return route{}
		}
		if pc-at+16 > uint64(len(code)) {
			code, at = u.readCode(m, pc, codeWindow), pc
		}
		in, err := x86asm.Decode(code[min(pc-at, uint64(len(code))):], 64)
		if err != nil {
			return route{}
		}
		pc += uint64(in.Len)
		switch in.Op {
		case x86asm.RET:
			return w.finish()
		case x86asm.JMP:
			rel, direct := in.Args[0].(x86asm.Rel)
			if !direct {
				return w.finish() // a tail call, or a jump table
			}
			w.jumps++
			pc += uint64(int64(rel))
			if w.jumps > routeJumps || pc < m.Start || pc >= m.End {
				return route{}
			}
			code = nil
		default:
			if !w.follow(&in) {
				return route{}
			}
		}
	}
	return route{}
}

// finish is what to do when the function returns now.
func (w *walker) finish() route {
	cfa := w.delta + 8
	if cfa != int64(int32(cfa)) {
		return route{}
	}
	w.out.ok = true
	w.out.cfa = rule{kind: ruleRegister, reg: w.reg, val: int32(cfa)}
	return w.out
}

// follow accounts for one instruction, and reports false for one behind which the
// stack pointer is not known.
func (w *walker) follow(in *x86asm.Inst) bool {
	switch in.Op {
	case x86asm.PUSH, x86asm.PUSHFQ:
		w.delta -= 8
	case x86asm.POP:
		if in.Args[0] == x86asm.RBP {
			w.loadRBP()
		}
		w.delta += 8
		return in.Args[0] != x86asm.RSP
	case x86asm.POPFQ:
		w.delta += 8
	case x86asm.LEAVE:
		if !w.toRBP(0) {
			return false
		}
		w.loadRBP()
		w.delta += 8
	case x86asm.UD2, x86asm.HLT, x86asm.INT, x86asm.IRET, x86asm.IRETQ, x86asm.ENTER:
		return false
	default:
		switch in.Args[0] {
		case x86asm.RSP:
			return w.setRSP(in)
		case x86asm.RBP:
			return w.setRBP(in)
		case x86asm.ESP, x86asm.SP, x86asm.SPB:
			return in.Op == x86asm.TEST || in.Op == x86asm.CMP
		}
	}
	return true
}

// loadRBP notes that rbp is loaded from where rsp points.
func (w *walker) loadRBP() {
	if w.delta == int64(int32(w.delta)) {
		w.out.rbp = true
		w.out.at = rule{kind: ruleRegister, reg: w.reg, val: int32(w.delta)}
	}
	w.fpSet = false
}

// toRBP makes rsp what rbp is, plus off.
func (w *walker) toRBP(off int64) bool {
	switch {
	case w.fpSet:
		w.reg, w.delta = w.fpReg, w.fpOff+off
	case w.out.rbp:
		return false // the caller's rbp by now
	default:
		w.reg, w.delta = regRBP, off
	}
	return true
}

// setRSP accounts for an instruction whose first operand is rsp.
func (w *walker) setRSP(in *x86asm.Inst) bool {
	switch in.Op {
	case x86asm.ADD, x86asm.SUB:
		imm, ok := in.Args[1].(x86asm.Imm)
		if in.Op == x86asm.SUB {
			imm = -imm
		}
		w.delta += int64(imm)
		return ok
	case x86asm.LEA:
		mem, ok := in.Args[1].(x86asm.Mem)
		if !ok || mem.Index != 0 {
			return false
		}
		switch mem.Base {
		case x86asm.RSP:
			w.delta += mem.Disp
			return true
		case x86asm.RBP:
			return w.toRBP(mem.Disp)
		}
		return false
	case x86asm.MOV:
		return in.Args[1] == x86asm.RBP && w.toRBP(0)
	case x86asm.CMP, x86asm.TEST:
		return true
	}
	return false
}

// setRBP accounts for an instruction whose first operand is rbp.
func (w *walker) setRBP(in *x86asm.Inst) bool {
	switch {
	case in.Op == x86asm.CMP || in.Op == x86asm.TEST:
	case in.Op == x86asm.MOV && in.Args[1] == x86asm.RSP:
		w.fpSet, w.fpReg, w.fpOff = true, w.reg, w.delta
	default:
		w.fpSet = false // an ordinary register here
	}
	return true
}
