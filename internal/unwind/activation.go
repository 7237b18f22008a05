package unwind

// An activation is what is known of a thread at one of its frames: registers and memory. Expressions read it.
type activation struct {
	registers
	mem   view
	expr  evaluator
	tls   uint64 // thread pointer, 0 if not known
	goReg uint64 // the register in which Go code keeps its g, 0 if not known
	loose bool   // the stack pointer is a lower bound: the last frame was left by a frame pointer that does not show its size
}

// registers are the known registers of a frame.
type registers struct {
	regs  [columns]uint64
	known uint64 // bit i: regs[i] is known
}

// register returns a register of the frame.
func (r *registers) register(column uint8) (uint64, bool) {
	return r.regs[column], r.known&(1<<column) != 0
}

// address returns the value of a ruleRegister.
func (r *registers) address(x rule) (uint64, bool) {
	v, ok := r.register(x.reg)
	return v + uint64(int64(x.val)), ok
}

func (r *registers) set(column uint8, v uint64) {
	r.regs[column] = v
	r.known |= 1 << column
}

func (r *registers) forget(column uint8) { r.known &^= 1 << column }

// setFP sets the frame pointer, or forgets it if !ok.
func (r *registers) setFP(v uint64, ok bool) {
	if r.set(regFP, v); !ok {
		r.forget(regFP)
	}
}

// word reads the target's memory.
func (a *activation) word(addr uint64) (uint64, bool) { return a.mem.word(addr) }
