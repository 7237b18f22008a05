package elfsym

import "path/filepath"

// Attributes of GNU's split units, before DWARF 5.
const (
	attrDwoName       = 0x76
	attrGNUDwoName    = 0x2130
	attrGNUDwoID      = 0x2131
	attrGNURangesBase = 0x2132
	attrGNUAddrBase   = 0x2133
)

// splitInfo is the section of a split unit's entries.
const splitInfo = ".debug_info.dwo"

// full returns the unit that has the entries of u. For a skeleton unit that is in a file of its own, or in a package of
// such files. full returns u itself if it has its entries, or if that file is missing.
func (d *dwarfFile) full(u *unit) *unit {
	if u.dwoName == "" || d.f.src == nil {
		return u
	}
	if split, ok := d.packaged(u); ok {
		return split
	}
	var split *unit
	d.openFirst(dwoPaths(u, d.f.path), func(o *File) (found bool) {
		// Each type unit has a section of its own (-fdebug-types-section), and the unit itself has one behind them.
		s := &dwarfFile{f: d.f, in: o, split: true, dwarfSections: d.readSplit(o)}
		for section := range o.sectionsNamed(splitInfo) {
			s.info = o.viewOf(section)
			if split, found = s.unitOfSkeleton(u); found {
				break
			}
		}
		return found
	})
	if split == nil {
		return u
	}
	return split
}

// dwoPaths returns where the file of a split unit may be: where it was made, or beside the program.
func dwoPaths(u *unit, program string) []string {
	made, beside := u.dwoName, u.dwoName
	if !filepath.IsAbs(made) {
		made = filepath.Join(u.compDir, made)
	} else {
		beside = filepath.Base(made)
	}
	var paths []string
	for _, path := range []string{made, filepath.Join(filepath.Dir(program), beside)} {
		if filepath.IsAbs(path) && (len(paths) == 0 || path != paths[0]) {
			paths = append(paths, path)
		}
	}
	return paths
}

// unitOfSkeleton finds the unit that belongs to a skeleton unit. Its addresses and lines are found as those of the
// skeleton.
func (d *dwarfFile) unitOfSkeleton(skeleton *unit) (found *unit, ok bool) {
	d.eachUnit(func(u *unit) bool {
		if _, ok := u.readRoot(); ok && u.dwoID == skeleton.dwoID {
			found = u
		}
		return found == nil
	})
	if found == nil {
		return nil, false
	}
	found.lowPC, found.addrBase, found.rangesBase = skeleton.lowPC, skeleton.addrBase, skeleton.rangesBase
	return found, true
}

// splitBases are the bases that a split unit does not name: behind the headers of its tables in DWARF 5.
func (u *unit) splitBases() {
	if u.version < 5 {
		u.strOffsets, u.rnglistsBase = 0, 0
		return
	}
	header := uint64(8) // length, version, padding
	if u.offSize == 8 {
		header = 16
	}
	u.strOffsets, u.rnglistsBase, u.loclistsBase = header, header+4, header+4
}
