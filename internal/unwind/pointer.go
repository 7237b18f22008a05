package unwind

import "ptools/internal/cursor"

// Pointer encodings of exception-handling data (Linux Standard Base, Core, 10.5
// "DWARF Extensions"): a format in the low four bits, what the value is relative to
// in the next three, and a flag for a pointer to the pointer.
const (
	encAbsptr  = 0x00
	encUleb128 = 0x01
	encUdata2  = 0x02
	encUdata4  = 0x03
	encUdata8  = 0x04
	encSigned  = 0x08
	encSleb128 = 0x09
	encSdata2  = 0x0a
	encSdata4  = 0x0b
	encSdata8  = 0x0c

	encFormat = 0x0f

	encPCRel   = 0x10
	encTextRel = 0x20
	encDataRel = 0x30
	encFuncRel = 0x40
	encAligned = 0x50

	encRelative = 0x70

	encIndirect = 0x80
	encOmit     = 0xff
)

// bases are the addresses an encoded pointer can be relative to.
type bases struct {
	text, data, function uint64
}

// pointer reads one encoded pointer. It does not follow indirect pointers, and
// returns the address of the pointer for them. Pointers to functions are never
// indirect, and pointers to personality routines are not used.
func pointer(c *cursor.Cursor, enc uint8, b bases) uint64 {
	if enc == encOmit {
		return 0
	}
	if enc&encRelative == encAligned {
		if pad := c.Pos() & 7; pad != 0 {
			c.Bytes(8 - pad)
		}
		return c.U64()
	}
	here := c.Pos()
	v := value(c, enc)
	if v == 0 {
		return 0 // a null pointer is null, whatever the base
	}
	switch enc & encRelative {
	case encAbsptr:
	case encPCRel:
		v += here
	case encTextRel:
		v += b.text
	case encDataRel:
		v += b.data
	case encFuncRel:
		v += b.function
	default:
		c.Bad = true
	}
	return v
}

// value reads a number in the format of enc, sign-extended if the format is signed.
func value(c *cursor.Cursor, enc uint8) uint64 {
	switch enc & encFormat {
	case encAbsptr, encUdata8, encSigned, encSdata8:
		return c.U64()
	case encUleb128:
		return c.Uleb()
	case encSleb128:
		return uint64(c.Sleb())
	case encUdata2:
		return uint64(c.U16())
	case encSdata2:
		return uint64(int16(c.U16()))
	case encUdata4:
		return uint64(c.U32())
	case encSdata4:
		return uint64(int32(c.U32()))
	}
	c.Bad = true
	return 0
}

// encodedSize returns the size in bytes of a pointer in this encoding, or 0 if
// it varies.
func encodedSize(enc uint8) int {
	switch enc & encFormat {
	case encUdata2, encSdata2:
		return 2
	case encUdata4, encSdata4:
		return 4
	case encAbsptr, encUdata8, encSigned, encSdata8:
		return 8
	}
	return 0
}
