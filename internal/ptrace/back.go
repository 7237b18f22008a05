package ptrace

// SetBack is a rule for threads that a trap of the tracer's stops with SIGTRAP behind
// itself: with the program counter After a thread is set back to To.
type SetBack struct {
	After, To uint64
	// Code is the si_code that the SIGTRAP must have, where a thread can be at After
	// without having executed the trap; 0: it cannot.
	Code int32
}

// Back is a thread that has been set back.
type Back struct {
	TID   int
	After uint64 // where it was
	Regs  Regs
}
