package perfevent

import "ptools/internal/ptrace"

// numRegs is how many words the kernel saves when a thread enters it (struct pt_regs).
const numRegs = ptrace.SavedWords

// A Hit is the last time that a thread reached a probed instruction.
type Hit struct {
	Count uint64          // how many hits the thread has had
	Regs  [numRegs]uint64 // as the kernel saves them (ptrace.Regs.SetSaved)
}
