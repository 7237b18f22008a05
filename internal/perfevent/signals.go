package perfevent

// numRegs is how many registers the kernel saves when a thread enters it: struct
// pt_regs, which is the first part of user_regs_struct.
const numRegs = 21

// A Hit is the last time that a thread came to a probed instruction, before it ran.
type Hit struct {
	Count uint64          // hits of this thread, all told
	Regs  [numRegs]uint64 // in the order of user_regs_struct, R15 to Ss
}
