package x86

// class says what is wrong after a copy of an instruction has run at another address.
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

// calls reports that the copy pushes a return address.
func (c class) calls() bool { return c == calls || c == relCalls }

// classify returns the class of an instruction.
func (in *inst) classify() class {
	switch {
	case in.isBranch():
		return in.classifyBranch()
	case in.enc != legacy:
		return plain
	case in.mp == mapOne:
		return in.classifyOne()
	case in.mp == map0F:
		switch in.op {
		case 0x05:
			return syscalls
		case 0x34: // sysenter returns to the vDSO's 32-bit part
			return fixed
		case 0x01: // enclu leaves rip in rcx
			if in.modrm == 0xd7 {
				return fixed
			}
		}
	}
	return plain
}

func (in *inst) classifyBranch() class {
	switch {
	case in.has(prefixOpSize) && !in.wide():
		return fixed // 66: some processors cut rip to 16 bits
	case in.is(0xff) && in.ext() == 2:
		return calls
	case in.is(0xff), in.is(0xc2), in.is(0xc3):
		return jumps
	case in.is(0xe8):
		return relCalls
	}
	return branches
}

func (in *inst) classifyOne() class {
	switch in.op {
	case 0x8e: // mov ss delays the trap of a step
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
