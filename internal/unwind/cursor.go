package unwind

import "encoding/binary"

// A cursor reads the little-endian fields of one section from front to back. An
// access beyond the end yields zero and sets bad, which stays set, so that a parser
// checks once after a group of fields.
type cursor struct {
	data []byte
	off  int
	addr uint64 // address of data[0]
	bad  bool
}

// rest is the number of bytes not yet read.
func (c *cursor) rest() int { return len(c.data) - c.off }

// pos is the address of the next byte.
func (c *cursor) pos() uint64 { return c.addr + uint64(c.off) }

func (c *cursor) bytes(n uint64) []byte {
	if c.bad || n > uint64(c.rest()) {
		c.bad = true
		return nil
	}
	b := c.data[c.off : c.off+int(n)]
	c.off += int(n)
	return b
}

func (c *cursor) u8() uint8 {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// uleb reads an unsigned LEB128 number. Padding beyond 64 bits must be zero.
func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		low := uint64(b & 0x7f)
		if c.bad || shift > 63 && low != 0 || shift == 63 && low > 1 {
			c.bad = true
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

// sleb reads a signed LEB128 number; bits beyond 64 are dropped.
func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		b := c.u8()
		if c.bad {
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

// str reads a string that ends in a zero byte.
func (c *cursor) str() string {
	for i := c.off; i < len(c.data); i++ {
		if c.data[i] == 0 {
			s := string(c.data[c.off:i])
			c.off = i + 1
			return s
		}
	}
	c.bad = true
	return ""
}
