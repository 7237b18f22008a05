package elfsym

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"ptools/internal/cursor"
)

// A dwarfFile finds lines and inlined calls in the debug sections of one file.
// It finds the unit that covers an address through .debug_aranges, or else
// through the first entry of every unit. It reads only that unit.
type dwarfFile struct {
	f     *File // whose text it describes
	in    *File // that has the sections
	split bool  // the units are split units
	dwarfSections
	sup    lazy[*dwarfFile]    // supplementary file
	dwp    lazy[*dwarfPackage] // package of split units
	scopes scopes

	mu      sync.Mutex
	aranges lazy[[]unitRange]
	all     lazy[[]unitRange]
	offsets lazy[[]uint64]
	types   lazy[map[uint64]uint64] // offsets of the units of one type, by their signatures
	inlined inlinedCalls            // all calls that were inlined; nil: not read
	units   *lru.Cache[uint64, *unitTable]
	held    int // bytes of the tables in units
	steps   int // entries of range lists read for the present look-up
	abbrevs keptAbbrevs
}

// A unitRange is code that belongs to the unit at off.
type unitRange struct {
	start, end, off uint64
}

const (
	unitRangeSize = 24 // bytes
	maxUnits      = 1 << 18
	maxUnitRanges = 1 << 21
	maxUnitBytes  = 64 << 20 // one unit's entries
	maxTables     = 48 << 20 // size of all kept unit tables
	mostTables    = 1 << 12
)

// dwarf returns the file's line information, nil if there is none.
func (f *File) dwarf() *dwarfFile {
	return f.lines.get(func() *dwarfFile {
		in := f
		if f.section(".debug_line") == nil {
			if in = f.separate(); in == nil || in.section(".debug_line") == nil {
				return nil
			}
		}
		return newDwarfFile(f, in)
	})
}

func newDwarfFile(f, in *File) *dwarfFile {
	units, err := lru.New[uint64, *unitTable](mostTables)
	if err != nil {
		panic(err) // only for sizes below 1
	}
	s := sectionsOf(in)
	return &dwarfFile{f: f, in: in, dwarfSections: s, units: units}
}

func (f *File) dwarfLines(vaddr uint64, buf []Line) []Line {
	d := f.dwarf()
	if d == nil {
		return buf
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	off, ok := findUnit(d.aranges.get(d.readAranges), vaddr)
	if !ok {
		if off, ok = findUnit(d.all.get(d.readAll), vaddr); !ok {
			return buf
		}
	}
	t := d.table(off)
	if t == nil {
		return buf
	}
	return t.lines(vaddr, buf)
}

// table returns the table of the unit at off, and reads it if needed.
func (d *dwarfFile) table(off uint64) *unitTable {
	if t, ok := d.units.Get(off); ok {
		return t
	}
	d.steps = 0
	t := d.readTable(off)
	for d.held+t.size > d.f.budget.tables() && d.evict() {
	}
	for !d.f.borrow(t.size) {
		if !d.evict() { // the unit has no lines, as long as others have the memory
			t = &unitTable{line: &lineTable{}}
			break
		}
	}
	if d.units.Len() == mostTables {
		d.evict()
	}
	d.units.Add(off, t)
	d.held += t.size
	return t
}

// evict lets go of the table that was not used longest, and reports whether there was one.
func (d *dwarfFile) evict() bool {
	_, old, ok := d.units.RemoveOldest()
	if ok {
		d.held -= old.size
		d.f.give(int64(old.size))
	}
	return ok
}

// drop lets go of what was read and can be read again. It reports false if that is in use.
func (d *dwarfFile) drop() bool {
	if !d.mu.TryLock() {
		return false
	}
	defer d.mu.Unlock()
	if sup := d.sup.peek(); sup != nil {
		sup.drop()
		drop(sup.in)
	}
	if p := d.dwp.peek(); p != nil {
		drop(p.in)
		p.drop()
	}
	if d.units != nil {
		d.units.Purge()
	}
	d.held, d.scopes, d.inlined, d.abbrevs = 0, scopes{}, nil, keptAbbrevs{}
	d.aranges, d.all, d.offsets, d.types = lazy[[]unitRange]{}, lazy[[]unitRange]{}, lazy[[]uint64]{}, lazy[map[uint64]uint64]{}
	d.dwarfSections.drop()
	return true
}

// findUnit returns the unit that covers addr. Ranges rarely overlap, so it
// looks only at a few before the nearest.
func findUnit(rs []unitRange, addr uint64) (uint64, bool) {
	i := sort.Search(len(rs), func(i int) bool { return rs[i].start > addr })
	for n := 0; n < 8 && i > 0; n++ {
		i--
		if addr < rs[i].end {
			return rs[i].off, true
		}
	}
	return 0, false
}

func sortRanges(rs []unitRange) []unitRange {
	slices.SortFunc(rs, func(a, b unitRange) int {
		return cmp.Or(cmp.Compare(a.start, b.start), -cmp.Compare(a.end, b.end))
	})
	return slices.Clip(rs)
}

// readAranges reads .debug_aranges (DWARF 5, 6.1.2). Code that the linker has
// discarded is at address 0 there.
func (d *dwarfFile) readAranges() []unitRange {
	var rs []unitRange
	whole := d.arangeView.loan(maxUnitBytes)
	defer whole.repay()
	c := cursor.Cursor{B: whole.mem}
	for c.Remaining() > 0 && len(rs) < maxUnitRanges {
		start := c.Off
		n, offSize := c.Length()
		body := cursor.Cursor{B: c.Bytes(n)}
		if c.Bad {
			break
		}
		body.Skip(2)
		off := body.Uint(offSize)
		size := uint64(body.U8())
		if body.U8() != 0 || size != 4 && size != 8 {
			continue
		}
		head := c.Off - n - start + body.Off
		body.Skip((2*size - head%(2*size)) % (2 * size))
		for !body.Bad && len(rs) < maxUnitRanges {
			addr, length := body.Uint(size), body.Uint(size)
			if addr == 0 && length == 0 || body.Bad {
				break
			}
			if _, ok := d.f.textEnd(addr); ok && addr+length > addr && d.f.budget.keep(unitRangeSize) {
				rs = append(rs, unitRange{addr, addr + length, off})
			}
		}
	}
	return sortRanges(rs)
}

// eachUnit calls f with the units in order. A unit that cannot be read is left
// out.
func (d *dwarfFile) eachUnit(f func(u *unit) bool) {
	off := uint64(0)
	for range maxUnits {
		u, ok := d.unitAt(off)
		if u == nil || u.end <= off {
			return
		}
		if ok && !f(u) {
			return
		}
		off = u.end
	}
}

// readAll reads the ranges of all units from their first entries: compilers
// other than gcc write no .debug_aranges by default.
func (d *dwarfFile) readAll() []unitRange {
	d.steps = 0
	var rs []unitRange
	var spans []span
	d.eachUnit(func(u *unit) bool {
		e, ok := u.readRoot()
		if !ok {
			return true
		}
		spans = u.spans(&e, spans[:0])
		for _, s := range spans {
			if _, ok := d.f.textEnd(s.start); ok && d.f.budget.keep(unitRangeSize) {
				rs = append(rs, unitRange{s.start, s.end, u.off})
			}
		}
		return len(rs) < maxUnitRanges
	})
	return sortRanges(rs)
}

// unitOf returns the unit that an offset in .debug_info is in.
func (d *dwarfFile) unitOf(off uint64) (*unit, bool) {
	offsets := d.offsets.get(func() []uint64 {
		var all []uint64
		d.eachUnit(func(u *unit) bool {
			all = append(all, u.off)
			return d.f.budget.keep(8)
		})
		return all
	})
	i, found := slices.BinarySearch(offsets, off)
	if !found {
		i--
	}
	if i < 0 {
		return nil, false
	}
	u, ok := d.unitAt(offsets[i])
	if !ok || off >= u.end {
		return nil, false
	}
	_, ok = u.readRoot()
	return u, ok
}

// typeEntryCost is the memory that a unit of one type takes in the map of those.
const typeEntryCost = 32

// typeUnit returns the unit of the type with a signature. Those of DWARF 4 are in a section of their own, which is not read.
func (d *dwarfFile) typeUnit(signature uint64) (*unit, bool) {
	units := d.types.get(func() map[uint64]uint64 {
		all := map[uint64]uint64{}
		d.eachUnit(func(u *unit) bool {
			if u.typeOff == 0 {
				return true
			}
			all[u.typeID] = u.off
			return d.f.budget.keep(typeEntryCost)
		})
		return all
	})
	off, ok := units[signature]
	if !ok {
		return nil, false
	}
	u, ok := d.unitAt(off)
	if !ok {
		return nil, false
	}
	_, ok = u.readRoot()
	return u, ok
}

// close closes the supplementary file and the files of split units. If they are in use just now, the runtime closes them
// later.
func (d *dwarfFile) close() {
	if !d.mu.TryLock() {
		return
	}
	defer d.mu.Unlock()
	if sup := d.sup.get(func() *dwarfFile { return nil }); sup != nil {
		closeOther(sup.in)
	}
	if p := d.dwp.get(func() *dwarfPackage { return nil }); p != nil {
		closeOther(p.in)
	}
	for _, t := range d.units.Values() {
		if t.unit != nil && t.unit.d != d {
			closeOther(t.unit.d.in)
			if sup := t.unit.d.sup.get(func() *dwarfFile { return nil }); sup != nil {
				closeOther(sup.in)
			}
		}
	}
}
