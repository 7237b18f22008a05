package elfsym

import "bytes"

// A cursor reads DWARF data front to back. A read past the end gives zero and
// sets bad; it stays set.
type cursor struct {
	b   []byte
	off uint64
	bad bool
}

func (c *cursor) left() uint64 { return uint64(len(c.b)) - c.off }

// take returns the next n bytes.
func (c *cursor) take(n uint64) []byte {
	if c.bad || n > c.left() {
		c.bad, c.off = true, uint64(len(c.b))
		return nil
	}
	b := c.b[c.off : c.off+n]
	c.off += n
	return b
}

func (c *cursor) skip(n uint64) { c.take(n) }

// uint reads a little-endian number of 1 to 8 bytes.
func (c *cursor) uint(n uint64) uint64 {
	v := uint64(0)
	for i, b := range c.take(n) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func (c *cursor) u8() uint8 {
	if c.off < uint64(len(c.b)) {
		c.off++
		return c.b[c.off-1]
	}
	c.bad = true
	return 0
}

func (c *cursor) u16() uint16 { return uint16(c.uint(2)) }
func (c *cursor) u32() uint32 { return uint32(c.uint(4)) }
func (c *cursor) u64() uint64 { return c.uint(8) }

func (c *cursor) uleb() uint64 {
	v := uint64(0)
	for shift := 0; ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b&0x80 == 0 || c.bad {
			return v
		}
	}
}

func (c *cursor) sleb() int64 {
	v := int64(0)
	for shift := 0; ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		if b&0x80 == 0 || c.bad {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}

// cstring reads a NUL-terminated string.
func (c *cursor) cstring() string {
	n := bytes.IndexByte(c.b[min(c.off, uint64(len(c.b))):], 0)
	if n < 0 {
		c.bad, c.off = true, uint64(len(c.b))
		return ""
	}
	s := c.take(uint64(n) + 1)
	if n > maxName || s == nil {
		return ""
	}
	return string(s[:n])
}

// length reads the initial length of a unit, which also says whether offsets
// in it have 4 or 8 bytes.
func (c *cursor) length() (n uint64, offsetSize uint64) {
	if v := c.u32(); v != 0xffffffff {
		return uint64(v), 4
	}
	return c.u64(), 8
}
