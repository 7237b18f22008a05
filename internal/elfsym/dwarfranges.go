package elfsym

// maxRanges bounds the entries of range lists that are read for one question.
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
		if e.ranges.v >= maxLoad {
			return buf
		}
		c := cursor{b: u.d.rnglists.upTo(u.rnglistsBase+e.ranges.v*u.offSize, u.offSize)}
		off := c.uint(u.offSize)
		if c.bad {
			return buf
		}
		return u.newRanges(u.rnglistsBase+off, buf)
	}
	return u.newRanges(e.ranges.v, buf)
}

// oldRanges reads a list of .debug_ranges: pairs of addresses relative to a
// base, which a pair that starts with the largest address sets.
func (u *unit) oldRanges(off uint64, buf []span) []span {
	base, largest := u.lowPC, uint64(1)<<(8*u.addrSize-1)*2-1
	v := u.d.ranges
	var c cursor
	for ; u.d.steps < maxRanges; u.d.steps++ {
		if c.left() < 2*u.addrSize {
			c = cursor{b: v.upTo(off, 512)}
		}
		a, b := c.uint(u.addrSize), c.uint(u.addrSize)
		off += 2 * u.addrSize
		switch {
		case c.bad || a == 0 && b == 0:
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
	c := cursor{b: u.d.rnglists.upTo(off, 512)}
	indexed := func(i uint64) uint64 {
		a, ok := u.address(value{form: formAddrx, v: i})
		c.bad = c.bad || !ok
		return a
	}
	for ; u.d.steps < maxRanges; u.d.steps++ {
		if c.left() < longest {
			off += c.off
			c = cursor{b: u.d.rnglists.upTo(off, 512)}
		}
		var s span
		switch kind := c.u8(); kind {
		case rleBaseAddressx:
			base = indexed(c.uleb())
			continue
		case rleBaseAddress:
			base = c.uint(u.addrSize)
			continue
		case rleStartxEndx:
			s.start, s.end = indexed(c.uleb()), indexed(c.uleb())
		case rleStartxLength:
			s.start = indexed(c.uleb())
			s.end = s.start + c.uleb()
		case rleOffsetPair:
			s.start, s.end = base+c.uleb(), base+c.uleb()
		case rleStartEnd:
			s.start, s.end = c.uint(u.addrSize), c.uint(u.addrSize)
		case rleStartLength:
			s.start = c.uint(u.addrSize)
			s.end = s.start + c.uleb()
		default: // rleEndOfList, or unknown
			return buf
		}
		if c.bad {
			return buf
		}
		if s.start < s.end {
			buf = append(buf, s)
		}
	}
	return buf
}
