package perfevent

// numRegs is how many registers the kernel saves when a thread enters it (struct
// pt_regs). They are the first part of user_regs_struct.
const numRegs = 21

// A Hit is the last time that a thread reached a probed instruction.
type Hit struct {
	Count uint64          // how many hits the thread has had
	Regs  [numRegs]uint64 // in the order of user_regs_struct, R15 to Ss
}
