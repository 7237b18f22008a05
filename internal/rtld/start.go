package rtld

import (
	"bytes"
	"io"

	"golang.org/x/arch/x86/x86asm"
)

// MainFromEntry returns the address of main. It follows the code at the program's entry point
// (AT_ENTRY) to the call of __libc_start_main, whose first argument is main. It knows the start
// files of glibc (all ages; dynamic, static, PIE and not) and musl for x86-64. It reports false for
// programs that begin otherwise, such as those written in Go. If the start file of a PIE takes main
// from the GOT, it reports false until the linker has relocated the GOT.
//
// The address is a guess by the form of the code. The caller has to check that it is in executable
// memory.
func MainFromEntry(mem io.ReaderAt, entry uint64) (uint64, bool) {
	s := starter{mem: mem, pc: entry}
	s.reg[number(x86asm.RSP)].kind = entryStack
	inst, ok := s.next()
	for ok && inst.Op == x86asm.NOP {
		inst, ok = s.next()
	}
	// The ABI demands that the outermost frame is marked, and every C start file does that first.
	if !ok || inst.Op != x86asm.XOR || inst.Args[0] != inst.Args[1] || number(inst.Args[0]) != number(x86asm.RBP) {
		return 0, false
	}
	for range maxInsts {
		if inst, ok = s.next(); !ok {
			return 0, false
		}
		switch inst.Op {
		case x86asm.CALL, x86asm.JMP:
			if main := s.reg[number(x86asm.RDI)]; main.kind == constant {
				return main.addr, readable(mem, main.addr)
			}
			if !s.follow(inst.Args[0]) {
				return 0, false
			}
		case x86asm.HLT, x86asm.RET, x86asm.UD2, x86asm.SYSCALL, x86asm.INT:
			return 0, false
		default:
			s.do(inst)
		}
	}
	return 0, false
}

// maxInsts bounds the instructions that are looked at; musl's static-PIE start has 120.
const maxInsts = 400

// value is what is known of a register.
type value struct {
	kind uint8
	addr uint64 // of a constant
}

const (
	unknown    = iota
	constant   // an address in the code, or in memory that the code refers to
	entryStack // the stack pointer that the kernel has passed
)

// starter follows start code in a straight line. It does not take conditional branches, and takes
// calls and jumps. It keeps track of no memory, and only of the register values that are needed.
type starter struct {
	mem io.ReaderAt
	pc  uint64 // of the next instruction
	reg [16]value
}

// next decodes the instruction at pc and moves on. x86asm does not know endbr64: it is a nop.
func (s *starter) next() (x86asm.Inst, bool) {
	var b [15]byte                          // the longest instruction
	n, _ := s.mem.ReadAt(b[:], int64(s.pc)) // short at the end of the text
	code := b[:max(n, 0)]
	if bytes.HasPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) {
		s.pc += 4
		return x86asm.Inst{Op: x86asm.NOP, Len: 4}, true
	}
	inst, err := x86asm.Decode(code, 64)
	if err != nil || inst.Op == 0 {
		return inst, false
	}
	s.pc += uint64(inst.Len)
	return inst, true
}

// do keeps track of the registers over an instruction that is no branch.
func (s *starter) do(inst x86asm.Inst) {
	dst := number(inst.Args[0])
	switch {
	case inst.Op == x86asm.PUSH || inst.Op == x86asm.POP:
		s.reg[number(x86asm.RSP)] = value{}
		if inst.Op == x86asm.POP && dst >= 0 {
			s.reg[dst] = value{}
		}
	case inst.Op == x86asm.NOP || inst.Op == x86asm.CMP || inst.Op == x86asm.TEST:
	case dst >= 0:
		s.reg[dst] = s.result(inst)
	case inst.Args[0] == nil: // cdqe, mul, ...: their results are not among the arguments
		s.reg[number(x86asm.RAX)] = value{}
		s.reg[number(x86asm.RDX)] = value{}
	}
}

// result returns the value that an instruction leaves in its destination. A copy of a constant does
// not count as a constant: start code loads main where it needs it, and copies other values.
func (s *starter) result(inst x86asm.Inst) value {
	switch src := inst.Args[1].(type) {
	case x86asm.Imm:
		if inst.Op == x86asm.MOV && inst.DataSize == 64 {
			return value{constant, uint64(src)}
		}
		if inst.Op == x86asm.MOV && inst.DataSize == 32 {
			return value{constant, uint64(uint32(src))}
		}
	case x86asm.Mem:
		if src.Base != x86asm.RIP {
			break
		}
		addr := s.target(src)
		if inst.Op == x86asm.LEA {
			return value{constant, addr}
		}
		if inst.Op == x86asm.MOV && inst.DataSize == 64 {
			return s.load(addr)
		}
	case x86asm.Reg:
		if n := number(src); n >= 0 && inst.Op == x86asm.MOV && inst.DataSize == 64 && s.reg[n].kind == entryStack {
			return s.reg[n]
		}
	}
	return value{}
}

// target returns the address of a RIP-relative operand. x86asm does not extend the sign of its
// 32-bit displacement.
func (s *starter) target(m x86asm.Mem) uint64 { return s.pc + uint64(int64(int32(m.Disp))) }

// load returns the word at addr. A zero is unknown: the linker has not relocated it yet.
func (s *starter) load(addr uint64) value {
	v, err := readWord(s.mem, addr)
	if err != nil || v == 0 {
		return value{}
	}
	return value{constant, v}
}

// follow moves pc to the target of a call or jump. It does so only while a register still has the
// kernel's stack pointer: otherwise this is no start code (musl's passes it from function to function).
func (s *starter) follow(target x86asm.Arg) bool {
	carried := false
	for i, v := range s.reg {
		carried = carried || v.kind == entryStack && i != number(x86asm.RSP)
	}
	if !carried {
		return false
	}
	to := value{}
	switch a := target.(type) {
	case x86asm.Rel:
		to = value{constant, s.pc + uint64(a)}
	case x86asm.Reg:
		if n := number(a); n >= 0 {
			to = s.reg[n]
		}
	case x86asm.Mem:
		if a.Base == x86asm.RIP {
			to = s.load(s.target(a))
		}
	}
	s.pc = to.addr
	return to.kind == constant
}

// number returns the machine's number of a general register of 16 bits or more, -1 for anything
// else.
func number(a x86asm.Arg) int {
	r, ok := a.(x86asm.Reg)
	switch {
	case !ok:
		return -1
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX)
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX)
	case r >= x86asm.AX && r <= x86asm.R15W:
		return int(r - x86asm.AX)
	}
	return -1
}

func readable(mem io.ReaderAt, addr uint64) bool {
	var b [1]byte
	return read(mem, b[:], addr) == nil
}
