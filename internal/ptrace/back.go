package ptrace

// SetBack is a rule for threads that a trap of the tracer stops with SIGTRAP. Such a thread
// is stopped behind the trap: with the program counter After it is set back to To.
type SetBack struct {
	After, To uint64
	// Code is the si_code that the SIGTRAP must have. It is 0 where a thread cannot be at
	// After without having executed the trap.
	Code int32
}

// Back is a thread that has been set back.
type Back struct {
	TID   int
	After uint64 // where it was stopped
	Regs  Regs
}
