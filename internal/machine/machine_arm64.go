package machine

import "ptools/internal/a64"

type (
	Regs  = a64.Regs
	Plan  = a64.Plan
	Kind  = a64.Kind
	Copy  = a64.Copy
	Saved = a64.Saved
)

const (
	Emulate  = a64.Emulate
	Displace = a64.Displace
	StepAll  = a64.StepAll

	// SlotSize is the size and alignment of a scratch slot.
	SlotSize = a64.SlotSize

	// Trap is the instruction that traps. A thread that has executed it is stopped TrapBehind bytes behind its address.
	Trap       = "\x00\x00\x20\xd4"
	TrapBehind = 0

	// Controls reports whether threads can be controlled on this machine: stopped, with their system calls made again, and
	// moved past breakpoints.
	Controls = false
)

// MakePlan plans how a thread gets past an instruction.
func MakePlan(code []byte, addr uint64) (Plan, error) { return a64.MakePlan(code, addr) }
