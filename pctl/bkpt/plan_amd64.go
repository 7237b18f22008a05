package bkpt

import (
	"fmt"

	"golang.org/x/arch/x86/x86asm"
)

// class says what running a copy somewhere else would get wrong.
type class uint8

const (
	plain    class = iota // nothing but a RIP-relative operand
	jumps                 // indirect branch, ret: rip is right afterwards
	calls                 // indirect call: the return address it pushed is wrong
	branches              // relative branch: rip is wrong by the distance
	relCalls              // relative call: both
	syscalls              // rip, rcx and r11, unless it was sigreturn
	fixed                 // cannot run elsewhere
)

// A Plan says how a thread gets past one instruction without ever lifting the
// trap from it. It is made once, when the breakpoint is set. A Plan is used
// from one goroutine at a time: Emulate works in a buffer of the plan.
type Plan struct {
	addr, next uint64 // the instruction, and the one after it
	act        action
	code       [maxLen]byte
	length     int
	kind       Kind
	class      class
	trap       bool
	system     bool

	// What rewriting a RIP-relative operand needs.
	ripRel  bool
	disp    int32
	dispPos int
	modPos  int
	extPos  int
	extBit  byte // the bit of code[extPos] that extends ModRM.rm
	extSet  byte // and what it is when the extension is off
	scratch uint8

	buf [8]byte // Emulate's access to memory
}

// MakePlan plans the instruction at addr. code starts with its original bytes,
// without traps, and should be 16 bytes where the mapping has that many. The
// error says that the bytes are not an instruction, or are cut short.
func MakePlan(code []byte, addr uint64) (Plan, error) {
	in, err := decode(code)
	if err != nil {
		return Plan{}, fmt.Errorf("%#x: % x: %w", addr, code[:min(len(code), maxLen)], err)
	}
	p := Plan{addr: addr, kind: StepAll, class: fixed}
	if in.unknown {
		return p, nil
	}
	p.length = len(in.code)
	p.next = addr + uint64(p.length)
	copy(p.code[:], in.code)
	p.trap, p.system = in.isTrap(), in.isSyscall()
	if p.class = in.classify(); p.class == fixed || !in.agreed(code) {
		p.class = fixed
		return p, nil
	}
	p.planOperand(&in)
	p.kind = Displace
	if a, ok := in.compile(p.next); ok {
		p.act, p.kind = a, Emulate
	}
	return p, nil
}

// agreed reports that x86asm, where it knows the instruction, finds the same
// length: two decoders that were written apart must agree before a copy of it
// is run. Not asked about the vector encodings, where x86asm reads operand
// bytes that vzeroupper does not have.
func (in *insn) agreed(code []byte) bool {
	if in.enc != legacy {
		return true
	}
	x, err := x86asm.Decode(code[:min(len(code), maxLen)], 64)
	return err != nil || x.Op == 0 || x.Len == len(in.code)
}

// planOperand notes how a RIP-relative operand can be written anew.
func (p *Plan) planOperand(in *insn) {
	if !in.ripRel() || in.mod() == 3 {
		return
	}
	p.ripRel, p.disp, p.dispPos, p.modPos = true, in.disp, in.dispPos, in.modPos
	p.extPos, p.extBit = in.extPos, rexB
	if in.enc != legacy {
		p.extBit, p.extSet = 1<<5, 1<<5 // stored inverted
	}
	p.scratch = in.scratchReg()
}

// scratchReg chooses a register that the instruction does not use. With a
// memory operand in ModRM, registers come from ModRM.reg and vvvv; of rsi, rdi
// and rbx only rbx is also used implicitly (cmpxchg16b), where ModRM.reg is no
// register, so that rsi is free.
func (in *insn) scratchReg() uint8 {
	reg := in.ext() | in.rex&rexR<<1
	for _, n := range [...]uint8{rsi, rdi} {
		if n != reg && n != in.vvvv {
			return n
		}
	}
	return rbx
}

// classify finds out what a copy would get wrong.
func (in *insn) classify() class {
	if in.isBranch() {
		switch {
		case in.opSize && in.rex&rexW == 0:
			return fixed // 66: some processors cut rip to 16 bits
		case in.op == 0xff && in.mp == mapOne && in.ext() == 2:
			return calls
		case in.op == 0xff && in.mp == mapOne, in.op == 0xc2, in.op == 0xc3:
			return jumps
		case in.op == 0xe8 && in.mp == mapOne:
			return relCalls
		}
		return branches
	}
	if in.enc != legacy {
		return plain
	}
	switch in.mp {
	case mapOne:
		return in.classifyOne()
	case map0F:
		switch in.op {
		case 0x05:
			return syscalls
		case 0x34: // sysenter comes back to the vDSO's 32-bit part
			return fixed
		case 0x01: // enclu leaves rip in rcx
			if in.modrm == 0xd7 {
				return fixed
			}
		}
	}
	return plain
}

func (in *insn) classifyOne() class {
	switch in.op {
	case 0x8e: // mov ss holds off the trap of a step
		if in.ext() == 2 {
			return fixed
		}
	case 0xc7: // xbegin: a relative abort address
		if in.ext() == 7 {
			return fixed
		}
	case 0xcd: // int: 0x80 is a system call that clobbers nothing
		if uint8(in.imm) != 0x80 {
			return fixed
		}
	case 0xcc, 0xf1, 0xca, 0xcb, 0xcf: // int3, int1, far returns
		return fixed
	case 0xff:
		if in.ext() == 3 || in.ext() == 5 { // far call and jump
			return fixed
		}
	}
	return plain
}

// isTrap reports int3, int1 and int n: the program's own traps.
func (in *insn) isTrap() bool {
	if in.enc != legacy || in.mp != mapOne {
		return false
	}
	return in.op == 0xcc || in.op == 0xf1 || in.op == 0xcd && uint8(in.imm) != 0x80
}

func (in *insn) isSyscall() bool {
	if in.enc != legacy {
		return false
	}
	return in.mp == map0F && in.op == 0x05 || in.mp == mapOne && in.op == 0xcd && uint8(in.imm) == 0x80
}

// Kind says how a thread gets past the instruction, if nothing stands in the
// way.
func (p *Plan) Kind() Kind { return p.kind }

// Len is the length of the instruction in bytes; 0 if processors disagree about
// it or it belongs to a map of the future, which is always StepAll.
func (p *Plan) Len() int { return p.length }

// IsSyscall reports the syscall instruction and int 0x80, which can clone,
// exit, or never return.
func (p *Plan) IsSyscall() bool { return p.system }

// UsesMemory reports that emulating the instruction reads or writes the target's
// memory, which costs a system call that a copy does not need.
func (p *Plan) UsesMemory() bool {
	if p.kind != Emulate {
		return false
	}
	switch p.act.op {
	case opPush, opPop, opLeave, opRet:
		return true
	case opMove, opMoveSX, opCmov, opALU, opTest:
		return p.act.dst.kind == argMem || p.act.src.kind == argMem
	}
	return false
}

// Probeable reports that the kernel may execute the instruction for its uprobes
// without the program noticing. Those that it gets wrong, or whose faults it
// moves elsewhere, are among the ones that are not emulated, but for these: popf
// and pushf, which see the trap flag of its single step; xchg with rax, which Linux
// 6.18 takes for a nop if the other is r8; and the nop of five bytes, which it replaces
// by a call that writes to the red zone below the stack pointer.
func (p *Plan) Probeable() bool {
	switch p.act.op {
	case opPushf, opPopf, opXchg:
		return false
	case opNop:
		return p.length != 5
	}
	return p.kind == Emulate
}

// IsTrap reports that the instruction is a trap of the program's own (int3,
// int1, int n): the signal it raises when stepped belongs to the program.
func (p *Plan) IsTrap() bool { return p.trap }

// Shadowed is Kind for a thread with a user shadow stack. Emulated calls and
// returns would leave that stack behind, and the return address a displaced
// call pushes there cannot be put right.
func (p *Plan) Shadowed() Kind {
	switch p.class {
	case calls, relCalls:
		return StepAll
	case jumps:
		return Displace
	}
	return p.kind
}
