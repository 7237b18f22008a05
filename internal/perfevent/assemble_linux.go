package perfevent

// Opcodes of the programs that are made by an assembly.
const (
	bpfMulImm    = 0x27
	bpfOrReg     = 0x4f
	bpfXorReg    = 0xaf
	bpfRightReg  = 0x7f
	bpfSignRight = 0xc7 // by an immediate
	bpfJump      = 0x05
	bpfJumpSet   = 0x45 // if it has bits of an immediate
	bpfJumpGE    = 0x35
	bpfJumpGT    = 0x25
	bpfJumpLE    = 0xb5
	bpfJumpGEReg = 0x3d
	bpfExchange  = 0xf1 // imm of bpfAtomic: store if equal to register 0
)

// helperTime returns CLOCK_MONOTONIC.
const helperTime = 5

// An assembly is a program whose jumps lead forward to labels.
type assembly struct {
	code  []instruction
	jumps map[string][]int // to labels that are not marked yet
}

// add appends instructions.
func (a *assembly) add(code ...instruction) { a.code = append(a.code, code...) }

// jump appends a jump to a label.
func (a *assembly) jump(i instruction, label string) {
	if a.jumps == nil {
		a.jumps = map[string][]int{}
	}
	a.jumps[label] = append(a.jumps[label], len(a.code))
	a.add(i)
}

// mark is where the jumps to a label lead that are there so far.
func (a *assembly) mark(label string) {
	for _, at := range a.jumps[label] {
		a.code[at].off = int16(len(a.code) - at - 1)
	}
	delete(a.jumps, label)
}
