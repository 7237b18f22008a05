package elfsym

import (
	"errors"
	"io/fs"
)

// Columns of a package's index (DWARF 5, 7.3.5.3). Version 2, of GNU's packages, has the same numbers for those that
// are used here.
const (
	columnInfo       = 1
	columnAbbrev     = 3
	columnStrOffsets = 6
	columnRnglists   = 8
)

const maxColumns = 16

// A dwarfPackage has split units of many files (.dwp).
type dwarfPackage struct {
	in                   *File
	index                view
	columns, rows, slots uint64
	dwarfSections
}

// packaged returns the split unit of a skeleton unit from the program's package.
func (d *dwarfFile) packaged(u *unit) (*unit, bool) {
	p := d.dwp.get(d.openPackage)
	if p == nil {
		return nil, false
	}
	row, ok := p.find(u.dwoID)
	if !ok {
		return nil, false
	}
	s := &dwarfFile{f: d.f, in: p.in, split: true, dwarfSections: p.dwarfSections}
	for column := range p.columns {
		head := p.table()
		id, _ := p.index.u32(head + 4*column)
		off, ok1 := p.index.u32(head + 4*((row+1)*p.columns+column))
		size, ok2 := p.index.u32(head + 4*((row+1+p.rows)*p.columns+column))
		if !ok1 || !ok2 {
			return nil, false
		}
		for c, v := range map[uint32]*view{
			columnInfo: &s.info, columnAbbrev: &s.abbrev, columnStrOffsets: &s.strOffs, columnRnglists: &s.rnglists,
		} {
			if c == id {
				*v = v.sub(uint64(off), uint64(size))
			}
		}
	}
	return s.unitOfSkeleton(u)
}

// openPackage opens the package beside the program or its debug file, nil if there is none.
func (d *dwarfFile) openPackage() *dwarfPackage {
	for _, path := range []string{d.f.path + ".dwp", d.in.path + ".dwp"} {
		if d.f.missing.hung() {
			return nil
		}
		o, err := d.f.openOther(path, func(o *File) bool { return o.section(".debug_cu_index") != nil })
		if err == nil {
			p := &dwarfPackage{in: o, index: o.sectionView(".debug_cu_index"), dwarfSections: d.readSplit(o)}
			if p.readHeader() {
				return p
			}
			closeOther(o)
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			d.f.missing.wait(err)
			d.f.missing.note(err)
		}
	}
	return nil
}

// readHeader reads the sizes of the index.
func (p *dwarfPackage) readHeader() bool {
	version, ok := p.index.u32(0)
	columns, ok1 := p.index.u32(4)
	rows, ok2 := p.index.u32(8)
	slots, ok3 := p.index.u32(12)
	p.columns, p.rows, p.slots = uint64(columns), uint64(rows), uint64(slots)
	return ok && ok1 && ok2 && ok3 && (version == 2 || version&0xffff == 5) &&
		p.columns <= maxColumns && p.slots > 0 && p.slots&(p.slots-1) == 0 && 12*p.slots < p.index.size
}

// table is where the table of columns begins, behind the hash table.
func (p *dwarfPackage) table() uint64 { return 16 + 12*p.slots }

// find returns the row of the unit with an id.
func (p *dwarfPackage) find(id uint64) (row uint64, ok bool) {
	mask := p.slots - 1
	h, step := id&mask, id>>32&mask|1
	for range p.slots {
		n, ok := p.index.u32(16 + 8*p.slots + 4*h)
		if !ok || n == 0 || uint64(n) > p.rows {
			return 0, false
		}
		if at, ok := p.index.u64(16 + 8*h); ok && at == id {
			return uint64(n) - 1, true
		}
		h = (h + step) & mask
	}
	return 0, false
}
