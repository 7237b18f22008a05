package machine

import "ptools/internal/x86"

type (
	Regs  = x86.Regs
	Plan  = x86.Plan
	Kind  = x86.Kind
	Copy  = x86.Copy
	Saved = x86.Saved
)

const (
	Emulate  = x86.Emulate
	Displace = x86.Displace
	StepAll  = x86.StepAll

	// SlotSize is the size and alignment of a scratch slot.
	SlotSize = x86.SlotSize

	// Trap is the instruction that traps. A thread that has executed it is stopped TrapBehind bytes behind its address.
	Trap       = "\xcc"
	TrapBehind = 1

	// Controls reports whether threads can be controlled on this machine: stopped, with their system calls made again, and
	// moved past breakpoints.
	Controls = true
)

// MakePlan plans how a thread gets past an instruction.
func MakePlan(code []byte, addr uint64) (Plan, error) { return x86.MakePlan(code, addr) }
