package x86

import "fmt"

// Kind says how a thread gets past an instruction.
type Kind uint8

const (
	// Emulate: the instruction's effect is computed; the thread does not
	// step at all. If that is not possible at this hit, the thread runs a copy.
	Emulate Kind = iota
	// Displace: the thread runs a copy of the instruction elsewhere.
	Displace
	// StepAll: the instruction can only run in its own place. All threads
	// are stopped, the trap is lifted, and the thread steps.
	StepAll
)

var kindNames = [...]string{"emulate", "displace", "step-all"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// A Plan says how a thread gets past one instruction without ever lifting a
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
	rel        relative
	buf        [8]byte // Emulate's access to memory
}

// MakePlan plans the instruction at addr. code starts with its original bytes,
// without traps, and should be 16 bytes where the mapping has that many. The
// error says that the bytes are not an instruction, or are cut short.
func MakePlan(code []byte, addr uint64) (Plan, error) {
	p := Plan{addr: addr, kind: StepAll, class: fixed}
	in, err := decode(code)
	switch err {
	case nil:
	case errUnknown:
		return p, nil
	default:
		return Plan{}, fmt.Errorf("%#x: % x: %w", addr, code[:min(len(code), maxLen)], err)
	}
	p.length = len(in.code)
	p.next = addr + uint64(p.length)
	copy(p.code[:], in.code)
	p.trap, p.system = in.isTrap(), in.isSyscall()
	class := in.classify()
	if class == fixed || !in.agreed(code) {
		return p, nil
	}
	p.class, p.kind, p.rel = class, Displace, in.relative()
	if a, ok := in.compile(p.next); ok {
		p.act, p.kind = a, Emulate
	}
	return p, nil
}

// Kind says how a thread normally gets past the instruction. Emulation may not
// be possible at a hit.
func (p *Plan) Kind() Kind { return p.kind }

// Len is the length of the instruction in bytes. It is 0 if the length differs
// between processors, or the opcode map is not defined yet; the kind is always
// StepAll then.
func (p *Plan) Len() int { return p.length }

// IsSyscall reports whether the instruction is syscall or int 0x80, which can
// clone, exit, or never return.
func (p *Plan) IsSyscall() bool { return p.system }

// IsTrap reports whether the instruction is a trap of the program's own (int3,
// int1, int n): the signal that it raises when stepped belongs to the program.
func (p *Plan) IsTrap() bool { return p.trap }

// UsesMemory reports whether emulation of the instruction reads or writes the target's
// memory. That costs a system call, which a copy does not need.
func (p *Plan) UsesMemory() bool { return p.act.usesMemory() }

// Probeable reports whether the kernel may execute the instruction for its uprobes
// without the program noticing. The kernel executes some instructions wrongly, or
// moves their faults elsewhere. All of these are instructions that are not emulated,
// with three exceptions:
//   - popf and pushf see the trap flag of the kernel's single step;
//   - Linux 6.18 takes xchg with rax for a nop if the other register is r8;
//   - the kernel replaces the nop of five bytes by a call, which writes to the red zone
//     below the stack pointer.
func (p *Plan) Probeable() bool {
	switch p.act.op {
	case opPushf, opPopf, opXchg:
		return false
	case opNop:
		return p.length != 5
	}
	return p.kind == Emulate
}
