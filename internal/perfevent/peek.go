package perfevent

// Peeked is what Peek has read of a thread, at one moment.
type Peeked struct {
	Regs  [21]uint64 // as the kernel saves them (ptrace.Regs.SetSaved)
	Word  uint32     // the word that was asked for, at the same moment
	Base  uint64     // address of Stack: the beginning of the red zone below the stack pointer
	Stack []byte     // copy of the stack; valid until the next Peek
}
