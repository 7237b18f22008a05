package perfevent

// Peeked is what Peek has read of a thread, at one moment.
type Peeked struct {
	Regs  [numRegs]uint64 // as the kernel saves them (ptrace.Regs.SetSaved)
	Word  uint32          // the word that was asked for, at the same moment
	Base  uint64          // address of Stack: the stack pointer, or the beginning of the red zone below it
	Stack []byte          // copy of the stack; valid until the next Peek
}
