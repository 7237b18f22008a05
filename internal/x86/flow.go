package x86

// A Way says where a thread goes from an instruction.
type Way uint8

const (
	Onward       Way = iota // to the next instruction
	Jump                    // to Step.Target
	JumpIf                  // to Step.Target or to the next instruction
	JumpIndirect            // to where a register or memory says
	Call                    // into a function, and later to the next instruction
	Return                  // to where the stack says
	Nowhere                 // it stops or faults: ud2, hlt, int3
	Elsewhere               // far branches, transactions
)

// A Step is what an instruction does to the flow of control.
type Step struct {
	Len    int
	Way    Way
	Target int64 // of Jump, JumpIf and a direct Call, from the beginning of the instruction; 0 if it is not direct
	Cond   uint8 // of JumpIf: the low four bits of the opcode, or CondCount
	// Emulated: Linux emulates the instruction at a uprobe. It single-steps copies of others.
	Emulated bool
	// Table: an indirect jump by a table, as that of a switch.
	Table bool
}

// CondCount is the condition of jrcxz and of the loop instructions, which the flags do not have.
const CondCount = 16

// StepOf returns what the instruction at the beginning of code does. It returns false if there is none, or if its length
// is not the same on every processor.
func StepOf(code []byte) (Step, bool) {
	in, err := decode(code)
	if err != nil {
		return Step{}, false
	}
	s := Step{Len: len(in.code)}
	if in.enc != legacy {
		return s, true
	}
	switch in.mp {
	case mapOne:
		in.flowOne(&s)
	case map0F:
		in.flowTwo(&s)
	}
	return s, true
}

// direct sets the target of a relative branch.
func (in *inst) direct(s *Step, way Way) {
	s.Way, s.Target = way, int64(len(in.code))+in.imm
}

// flowOne is StepOf for opcodes of one byte.
func (in *inst) flowOne(s *Step) {
	bare := in.code[0] == in.op // no prefix
	switch op := in.op; {
	case op&0xf0 == 0x70:
		in.direct(s, JumpIf)
		s.Cond, s.Emulated = op&15, bare
	case op&^3 == 0xe0:
		in.direct(s, JumpIf)
		s.Cond = CondCount
	case op == 0xe9 || op == 0xeb:
		in.direct(s, Jump)
		s.Emulated = bare
	case op == 0xe8:
		in.direct(s, Call)
		s.Emulated = bare
	case op == 0xc2 || op == 0xc3:
		s.Way = Return
	case op == 0xff && in.ext() == 2:
		s.Way = Call
	case op == 0xff && in.ext() == 4:
		s.Way = JumpIndirect
		// With notrack (3e) the target need not begin with endbr64: compilers jump by tables so.
		s.Table = in.code[0] == 0x3e || in.hasSIB() && (in.sib>>3&7 != 4 || in.rex&rexX != 0)
	case op == 0xff && (in.ext() == 3 || in.ext() == 5), op == 0xca, op == 0xcb, op == 0xcf:
		s.Way = Elsewhere
	case op == 0xc7 && in.modrm == 0xf8: // xbegin
		s.Way = Elsewhere
	case op == 0xcc || op == 0xf1 || op == 0xf4:
		s.Way = Nowhere
	case op&^7 == 0x50: // push_setup_xol_ops
		s.Emulated = bare || len(in.code) == 2 && in.code[0] == 0x41
	case op == 0x90:
		s.Emulated = bare // branch_setup_xol_ops
	}
}

// flowTwo is StepOf for the opcodes after 0f.
func (in *inst) flowTwo(s *Step) {
	switch op := in.op; {
	case op&0xf0 == 0x80:
		in.direct(s, JumpIf)
		s.Cond, s.Emulated = op&15, in.code[0] == 0x0f
	case op == 0x0b || op == 0xb9 || op == 0xff: // ud2, ud1, ud0
		s.Way = Nowhere
	case op == 0x07 || op == 0x34 || op == 0x35: // sysret, sysenter, sysexit
		s.Way = Elsewhere
	}
}
