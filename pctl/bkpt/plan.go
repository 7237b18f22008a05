package bkpt

// Kind says how a thread gets past a breakpoint.
type Kind uint8

const (
	// Emulate: the instruction's effect is computed; the thread does not
	// step at all. Where that cannot be done now, a copy is run.
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

// A Copy is an instruction made ready to run in a scratch slot.
type Copy struct {
	// Code is what the slot holds, SlotSize bytes at most. After the
	// instruction comes a jump to the instruction that follows the
	// original, if that is within reach.
	Code []byte
	// Direct: the thread may simply be continued in the slot and comes back
	// by itself. Not so for calls, relative branches, system calls, copies
	// with a scratch register, and where the jump does not reach; those are
	// single-stepped, and Leave puts their registers right.
	Direct bool
	// Scratch is the register that holds the address of the operand, in the
	// processor's numbering; -1 if none is needed.
	Scratch int
}

// Saved is what Enter changed and Leave has to put back: per thread, from the
// one to the other.
type Saved struct {
	reg   uint8
	used  bool
	value uint64
}
