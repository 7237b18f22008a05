package pctl

// Registers are the user registers of a thread: those of the kernel's struct
// user_pt_regs, then what the kernel has beside them. The methods give what every machine has.
type Registers struct {
	X  [31]uint64
	Sp uint64
	Pc uint64
	// Pstate has the flags.
	Pstate uint64

	// OrigX0 is the first argument of the system call the thread is in, where the kernel shows it.
	OrigX0 uint64
	// SyscallNr is the number of the system call the thread is in, or all ones.
	SyscallNr uint64
	// Tpidr is the thread pointer, tpidr_el0.
	Tpidr uint64
}

// callWords is not asked for: calls.ArgumentsAt fails.
func (r *Registers) callWords() (none [15]uint64) { return none }
