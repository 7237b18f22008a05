package unwind

import (
	"sort"

	"ptools/internal/cursor"
)

// An index finds the FDE that may cover an address. The FDE itself says whether it
// does.
type index interface {
	// find returns the number of the last FDE that begins at or before pc, and
	// the offset of that FDE in its section.
	find(pc uint64) (i int, off int64, ok bool)
	len() int
}

// A searchTable is the table of .eh_frame_hdr (Linux Standard Base, Core, 10.6.2),
// used in place: pairs of function start and FDE address, sorted by the linker.
// Only the fields that a search touches are read.
type searchTable struct {
	data  []byte // n entries
	n     int
	enc   uint8
	size  int    // of one field
	base  uint64 // added to every field
	frame uint64 // address of .eh_frame
}

// newSearchTable reads the header of .eh_frame_hdr. It returns nil for a header
// without a table, or with one in a form that cannot be searched.
func newSearchTable(addr uint64, data []byte, frame uint64) *searchTable {
	c := cursor.Cursor{B: data, Addr: addr}
	version, ptrEnc, countEnc, enc := c.U8(), c.U8(), c.U8(), c.U8()
	if c.Bad || version != 1 || countEnc == encOmit || enc == encOmit {
		return nil
	}
	b := bases{data: addr}
	pointer(&c, ptrEnc, b)
	count := pointer(&c, countEnc, b)
	t := &searchTable{enc: enc, size: encodedSize(enc), frame: frame}
	switch {
	case c.Bad || t.size == 0:
		return nil
	case enc&encRelative == encDataRel:
		t.base = addr
	case enc&encRelative != encAbsptr:
		return nil
	}
	if room := c.Remaining() / uint64(2*t.size); count > room {
		count = room // cut short: search what is there
	}
	if count == 0 {
		return nil
	}
	t.n = int(count)
	t.data = c.Bytes(uint64(t.n * 2 * t.size))
	return t
}

func (t *searchTable) len() int { return t.n }

// field returns one address of the table: 2i is the start of function i, 2i+1 its FDE.
func (t *searchTable) field(i int) uint64 {
	return t.base + value(&cursor.Cursor{B: t.data[i*t.size:]}, t.enc)
}

func (t *searchTable) find(pc uint64) (int, int64, bool) {
	i := sort.Search(t.n, func(i int) bool { return t.field(2*i) > pc }) - 1
	if i < 0 {
		return 0, 0, false
	}
	return i, int64(t.field(2*i+1) - t.frame), true
}

// A linearIndex is made by reading a whole section once.
type linearIndex []span

// A span is a function and the offset of its FDE.
type span struct {
	start, end uint64
	off        int64
}

// spanSize is the size of a span in memory.
const spanSize = 24

// newLinearIndex reads all entries of s, up to the first that it cannot read.
func newLinearIndex(s *section, cies func(off int64) (*cie, error), costs budget) linearIndex {
	var x linearIndex
	sorted := true
	for off := int64(0); off < int64(len(s.data)); {
		e, err := s.entryAt(off)
		at := off
		off = e.next
		if err == errTerminator {
			continue // a terminator: .debug_frame has none; ld -r leaves them in the middle of .eh_frame
		}
		if err != nil {
			break
		}
		if e.isCIE {
			continue
		}
		f, err := s.fde(e, cies)
		if err != nil || f.start == f.end || f.start == 0 {
			continue // 0: a function that the linker discarded
		}
		if n := len(x); n > 0 && f.start < x[n-1].start {
			sorted = false
		}
		if !costs.Keep(spanSize) {
			break
		}
		x = append(x, span{f.start, f.end, at})
	}
	if !sorted {
		sort.SliceStable(x, func(i, j int) bool { return x[i].start < x[j].start })
	}
	return x
}

func (x linearIndex) len() int { return len(x) }

func (x linearIndex) find(pc uint64) (int, int64, bool) {
	i := sort.Search(len(x), func(i int) bool { return x[i].start > pc }) - 1
	if i < 0 || pc >= x[i].end {
		return 0, 0, false
	}
	return i, x[i].off, true
}
