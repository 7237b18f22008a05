package calls

import (
	"bytes"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"ptools/internal/x86"
)

// entry chooses the place of the probe at the function's entry.
func (b *body) entry(f *Function, ends []Place) (Place, error) {
	start := f.Start
	checked := f.Convention == Go && checksStack(b.bytesAt(start))
	if b.isTarget(start) && !checked {
		return Place{}, ErrLoop
	}
	w := walker{body: b, f: f, ends: ends, checking: checked}
	for addr, n := start, 0; n < maxWalk; n++ {
		s, ok := b.stepAt(addr)
		if !ok || addr != start && b.isTarget(addr) {
			break
		}
		if w.consider(addr, s) || !w.pass(addr, s) {
			break
		}
		addr += uint64(s.Len)
	}
	switch {
	case w.best != nil:
		return *w.best, nil
	case w.first != nil:
		return *w.first, nil
	}
	return Place{}, ErrNoPlace
}

// maxWalk bounds how many instructions come before the probe of an entry.
const maxWalk = 24

// A walker goes through the beginning of a function.
type walker struct {
	*body
	f        *Function
	ends     []Place
	slot     int32 // address of the return address minus the stack pointer
	checking bool  // before the end of a Go function's check of its stack, which it may come to twice
	best     *Place
	first    *Place // the first place that is possible
}

// consider takes an instruction for the probe if that is possible. It reports whether no better one can follow.
func (w *walker) consider(addr uint64, s x86.Step) bool {
	if w.checking {
		return false
	}
	p := &Place{Addr: addr, Slot: w.slot, Emulated: s.Emulated, Cond: Always}
	if i := slices.IndexFunc(w.ends, func(e Place) bool { return e.Addr == addr }); i >= 0 {
		// One probe at a place: it has to be the beginning and the end of the call.
		switch end := w.ends[i]; {
		case end.Cond != Always:
			return false
		case w.first != nil && !s.Emulated:
			return true // the end has a probe of its own
		}
		p.Tail, p.Return = true, !w.ends[i].Tail
	}
	if s.Way == x86.Nowhere || !probeable(w.bytesAt(addr), addr) {
		return false
	}
	if w.first == nil {
		w.first = p
	}
	if s.Emulated {
		w.best = p
		return true
	}
	return false
}

// probeable reports whether the kernel can execute an instruction for a probe without harm. It may not be the nop of
// five bytes: the kernel replaces a probe there by a call, which kills forked children (Linux 6.18, arch_uprobe_optimize).
func probeable(code []byte, addr uint64) bool {
	p, err := x86.MakePlan(code, addr)
	return err == nil && p.Probeable()
}

var endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}

// checks are comparisons with the limit of the goroutine's stack: of the stack pointer, and, in functions with large
// frames, of r12, which has been computed before. The limit is at 16 in the goroutine; functions for the stacks of
// threads use that at 24.
var checks = [][]byte{{0x49, 0x3b, 0x66, 16}, {0x49, 0x3b, 0x66, 24}, {0x4d, 0x3b, 0x66, 16}, {0x4d, 0x3b, 0x66, 24}}

// checkRoom bounds the code before a check of the stack.
const checkRoom = 32

// checksStack reports whether a Go function begins with a check of its stack. If there is no room the function calls
// the runtime, which may move the stack, and begins anew. Only such functions jump to their first instruction.
func checksStack(code []byte) bool {
	code = code[:min(len(code), checkRoom)]
	for _, check := range checks {
		if bytes.Contains(code, check) {
			return true
		}
	}
	return false
}

// isVector reports whether an instruction is one that begins with VEX or EVEX. None of those writes the stack pointer.
func isVector(code []byte) bool { return code[0] == 0xc4 || code[0] == 0xc5 || code[0] == 0x62 }

// pass reports whether the thread is in the same block behind an instruction, and whether the address of its return
// address is known there. It keeps track of that.
func (w *walker) pass(addr uint64, s x86.Step) bool {
	code := w.bytesAt(addr)
	if w.checking && s.Way == x86.JumpIf {
		// Behind the jump that follows the last comparison the check is over.
		for _, check := range checks {
			if bytes.HasPrefix(w.bytesAt(addr-uint64(len(check))), check) {
				w.checking = false
			}
		}
		return true
	}
	if s.Way != x86.Onward {
		return false
	}
	if bytes.HasPrefix(code, endbr64) {
		return true
	}
	if w.f.Arguments && !keepsArguments(code, w.f.Convention) {
		return false
	}
	in, err := x86asm.Decode(code, 64)
	if err != nil || in.Len != s.Len {
		return isVector(code)
	}
	switch in.Op {
	case x86asm.PUSH:
		w.slot += 8
		return in.DataSize != 16
	case x86asm.POP, x86asm.LEAVE, x86asm.ENTER, x86asm.PUSHF, x86asm.PUSHFQ, x86asm.POPF, x86asm.POPFQ, x86asm.SYSCALL:
		return false
	}
	return w.passStack(&in)
}

// argumentRegs are the numbers of the registers that arguments are in, by the convention.
var argumentRegs = map[Convention][]int{
	C:     {1, 2, 6, 7, 8, 9},
	Go:    {0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 14},
	GoAsm: {},
}

// keepsArguments reports whether an instruction leaves arguments alone, in registers and in memory. Those that are not known to do that
// are taken not to.
func keepsArguments(code []byte, convention Convention) bool {
	in, err := x86asm.Decode(code, 64)
	if err != nil {
		return false
	}
	if to, ok := in.Args[0].(x86asm.Reg); ok && to >= x86asm.X0 && to <= x86asm.X15 {
		return true // those are not read
	}
	switch in.Op {
	case x86asm.PUSH, x86asm.CMP, x86asm.TEST, x86asm.NOP:
		return true
	case x86asm.MOV, x86asm.MOVD, x86asm.MOVQ, x86asm.LEA, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.XOR, x86asm.AND, x86asm.OR, x86asm.ADD, x86asm.SUB:
	default:
		return false
	}
	to, ok := in.Args[0].(x86asm.Reg)
	return ok && family(to) >= 0 && !slices.Contains(argumentRegs[convention], family(to))
}

// passStack is pass for an instruction that may write the stack pointer as an operand.
func (w *walker) passStack(in *x86asm.Inst) bool {
	for i, arg := range in.Args {
		if r, ok := arg.(x86asm.Reg); !ok || family(r) != family(x86asm.RSP) || i > 0 && in.Op != x86asm.XCHG && in.Op != x86asm.XADD {
			continue
		}
		n, ok := in.Args[1].(x86asm.Imm)
		if !ok || in.Args[0] != x86asm.RSP || n < -1<<20 || n > 1<<20 {
			return in.Op == x86asm.CMP || in.Op == x86asm.TEST
		}
		switch in.Op {
		case x86asm.SUB:
			w.slot += int32(n)
		case x86asm.ADD:
			w.slot -= int32(n)
		case x86asm.CMP, x86asm.TEST:
		default:
			return false
		}
		return true
	}
	return true
}

// family returns the number of the general register that a register is part of, -1 if it is part of none.
func family(r x86asm.Reg) int {
	switch {
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX)
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX)
	case r >= x86asm.AX && r <= x86asm.R15W:
		return int(r - x86asm.AX)
	case r >= x86asm.R8B && r <= x86asm.R15B:
		return 8 + int(r-x86asm.R8B)
	case r >= x86asm.SPB && r <= x86asm.DIB:
		return 4 + int(r-x86asm.SPB)
	case r >= x86asm.AL && r <= x86asm.BL:
		return int(r - x86asm.AL)
	case r >= x86asm.AH && r <= x86asm.BH:
		return int(r - x86asm.AH)
	}
	return -1
}
