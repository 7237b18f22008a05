package perfevent

// numRegs is how many registers the kernel saves when a thread enters it: struct
// pt_regs, which is the first part of user_regs_struct.
const numRegs = 21

// A Hit is a thread's last arrival at a probed instruction, before it ran.
type Hit struct {
	Count uint64          // arrivals of this thread, all told
	Regs  [numRegs]uint64 // in the order of user_regs_struct, R15 to Ss
}
