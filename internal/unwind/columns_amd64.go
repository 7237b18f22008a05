package unwind

// Columns of the table that CFI describes: DWARF register numbers of the x86-64
// psABI, figure 3.36.
const (
	regRAX = iota
	regRDX
	regRCX
	regRBX
	regRSI
	regRDI
	regRBP
	regRSP
	regR8
	regR9
	regR10
	regR11
	regR12
	regR13
	regR14
	regR15
	regRIP // the return address column

	columns

	regFP = regRBP
	regSP = regRSP
	regPC = regRIP
)

// column maps a register number to its column, and false for one that is not kept
// (vector registers).
func (c *compiler) column(reg uint64) (uint8, bool) {
	if reg == c.cie.ra {
		return regPC, true
	}
	return uint8(reg), reg < regPC
}
