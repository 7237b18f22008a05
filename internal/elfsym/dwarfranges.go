package elfsym

import "ptools/internal/cursor"

// maxRanges bounds the entries of range lists that are read for one look-up.
const maxRanges = 1 << 22

// spans appends the code that an entry covers (DWARF 5, 2.17).
func (u *unit) spans(e *die, buf []span) []span {
	if low, ok := u.address(e.low); ok && e.high.set() {
		high, isAddr := u.address(e.high)
		if !isAddr {
			high = low + e.high.v
		}
		if low < high {
			buf = append(buf, span{low, high})
		}
		return buf
	}
	switch {
	case !e.ranges.set():
		return buf
	case u.version < 5:
		return u.oldRanges(e.ranges.v, buf)
	case e.ranges.form == formRnglistx:
		off, ok := u.d.rnglists.element(u.rnglistsBase, e.ranges.v, u.offSize)
		if !ok {
			return buf
		}
		return u.newRanges(u.rnglistsBase+off, buf)
	}
	return u.newRanges(e.ranges.v, buf)
}

// oldRanges reads a list of .debug_ranges: pairs of addresses relative to a
// base. A pair that starts with the largest address sets the base.
func (u *unit) oldRanges(off uint64, buf []span) []span {
	off += u.rangesBase
	base, largest := u.lowPC, uint64(1)<<(8*u.addrSize-1)*2-1
	v := u.d.ranges
	var c cursor.Cursor
	for ; u.d.steps < maxRanges; u.d.steps++ {
		if c.Remaining() < 2*u.addrSize {
			c = cursor.Cursor{B: v.upTo(off, 512)}
		}
		a, b := c.Uint(u.addrSize), c.Uint(u.addrSize)
		off += 2 * u.addrSize
		switch {
		case c.Bad || a == 0 && b == 0:
			return buf
		case a == largest:
			base = b
		case a < b:
			buf = append(buf, span{base + a, base + b})
		}
	}
	return buf
}

// Kinds of entry in .debug_rnglists.
const (
	rleEndOfList = iota
	rleBaseAddressx
	rleStartxEndx
	rleStartxLength
	rleOffsetPair
	rleBaseAddress
	rleStartEnd
	rleStartLength
)

func (u *unit) newRanges(off uint64, buf []span) []span {
	const longest = 1 + 2*10 // bytes of an entry
	base := u.lowPC
	c := cursor.Cursor{B: u.d.rnglists.upTo(off, 512)}
	indexed := func(i uint64) uint64 {
		a, ok := u.address(value{form: formAddrx, v: i})
		c.Bad = c.Bad || !ok
		return a
	}
	for ; u.d.steps < maxRanges; u.d.steps++ {
		if c.Remaining() < longest {
			off += c.Off
			c = cursor.Cursor{B: u.d.rnglists.upTo(off, 512)}
		}
		var s span
		switch kind := c.U8(); kind {
		case rleBaseAddressx:
			base = indexed(c.Uleb())
			continue
		case rleBaseAddress:
			base = c.Uint(u.addrSize)
			continue
		case rleStartxEndx:
			s.start, s.end = indexed(c.Uleb()), indexed(c.Uleb())
		case rleStartxLength:
			s.start = indexed(c.Uleb())
			s.end = s.start + c.Uleb()
		case rleOffsetPair:
			s.start, s.end = base+c.Uleb(), base+c.Uleb()
		case rleStartEnd:
			s.start, s.end = c.Uint(u.addrSize), c.Uint(u.addrSize)
		case rleStartLength:
			s.start = c.Uint(u.addrSize)
			s.end = s.start + c.Uleb()
		default: // rleEndOfList, or unknown
			return buf
		}
		if c.Bad {
			return buf
		}
		if s.start < s.end {
			buf = append(buf, s)
		}
	}
	return buf
}
