package unwind

// Columns of the table that CFI describes: DWARF register numbers of the AArch64 ABI, and the program counter, which has none. The
// return address is what the caller has in x30: its column is that of the register.
const (
	regX0 = 0
	regG  = 28 // Go keeps its g there
	regFP = 29
	regLR = 30
	regSP = 31
	regPC = 32

	columns = 33
)

// column maps a register number to its column, and false for one that is not kept (vector registers, and the pseudo-register
// that says whether the return address is signed).
func (c *compiler) column(reg uint64) (uint8, bool) { return uint8(reg), reg < regPC }
