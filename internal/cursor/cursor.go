// Package cursor reads little-endian data of unknown origin from front to back: DWARF, call frame
// information and other data with LEB128 numbers.
package cursor

import (
	"bytes"
	"encoding/binary"
)

// A Cursor reads B from Off on. An access beyond the end yields zero, sets Bad and leaves nothing to
// read. Bad stays set, so that a parser needs to check it only once after a group of fields.
type Cursor struct {
	B    []byte
	Off  uint64
	Addr uint64 // address of B[0], for Pos
	Bad  bool
}

// Remaining returns the number of bytes not yet read.
func (c *Cursor) Remaining() uint64 { return uint64(len(c.B)) - c.Off }

// Rest returns the bytes not yet read.
func (c *Cursor) Rest() []byte { return c.B[c.Off:] }

// Pos returns the address of the next byte.
func (c *Cursor) Pos() uint64 { return c.Addr + c.Off }

func (c *Cursor) fail() {
	c.Bad, c.Off = true, uint64(len(c.B))
}

// Bytes reads the next n bytes.
func (c *Cursor) Bytes(n uint64) []byte {
	if c.Bad || n > c.Remaining() {
		c.fail()
		return nil
	}
	b := c.B[c.Off : c.Off+n]
	c.Off += n
	return b
}

// Skip skips n bytes.
func (c *Cursor) Skip(n uint64) { c.Bytes(n) }

// Uint reads a number of 1 to 8 bytes.
func (c *Cursor) Uint(n uint64) uint64 {
	v := uint64(0)
	for i, b := range c.Bytes(n) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func (c *Cursor) U8() uint8 {
	if c.Off < uint64(len(c.B)) {
		c.Off++
		return c.B[c.Off-1]
	}
	c.Bad = true
	return 0
}

func (c *Cursor) U16() uint16 {
	if b := c.Bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *Cursor) U32() uint32 {
	if b := c.Bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *Cursor) U64() uint64 {
	if b := c.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Uleb reads an unsigned LEB128 number. Padding beyond 64 bits must be zero.
func (c *Cursor) Uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := c.U8()
		low := uint64(b & 0x7f)
		if c.Bad || shift > 63 && low != 0 || shift == 63 && low > 1 {
			c.fail()
			return 0
		}
		if shift <= 63 {
			v |= low << shift
		}
		if b&0x80 == 0 {
			return v
		}
	}
}

// Sleb reads a signed LEB128 number; bits beyond 64 are dropped.
func (c *Cursor) Sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		b := c.U8()
		if c.Bad {
			return 0
		}
		if shift < 64 {
			v |= int64(b&0x7f) << shift
			shift += 7
		}
		if b&0x80 == 0 {
			if shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// CString reads a string that ends in a zero byte. If it is longer than limit, the result is empty.
func (c *Cursor) CString(limit int) string {
	n := bytes.IndexByte(c.Rest(), 0)
	if n < 0 {
		c.fail()
		return ""
	}
	s := c.Bytes(uint64(n) + 1)
	if n > limit || s == nil {
		return ""
	}
	return string(s[:n])
}

// Length reads the initial length of a unit or an entry of DWARF, which also says whether offsets in it
// have 4 or 8 bytes (DWARF 5, 7.4).
func (c *Cursor) Length() (n, offsetSize uint64) {
	if v := c.U32(); v != 0xffffffff {
		return uint64(v), 4
	}
	return c.U64(), 8
}
