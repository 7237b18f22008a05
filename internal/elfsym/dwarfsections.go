package elfsym

// dwarfSections are the debug sections of one file, or of one unit in a package of split units.
type dwarfSections struct {
	info, abbrev, str, lineStr, strOffs      view
	line, ranges, rnglists, addr, arangeView view
	loc, loclists                            view
}

// sectionsOf returns the debug sections of a file.
func sectionsOf(in *File) (s dwarfSections) {
	for name, v := range map[string]*view{
		".debug_info": &s.info, ".debug_abbrev": &s.abbrev, ".debug_line": &s.line,
		".debug_str": &s.str, ".debug_line_str": &s.lineStr, ".debug_str_offsets": &s.strOffs,
		".debug_ranges": &s.ranges, ".debug_rnglists": &s.rnglists, ".debug_addr": &s.addr,
		".debug_aranges": &s.arangeView, ".debug_loc": &s.loc, ".debug_loclists": &s.loclists,
	} {
		*v = in.sectionView(name)
	}
	return s
}

// drop lets go of what is kept of compressed sections.
func (s *dwarfSections) drop() {
	for _, v := range []*view{&s.info, &s.abbrev, &s.str, &s.lineStr, &s.strOffs, &s.line, &s.ranges, &s.rnglists, &s.addr, &s.arangeView, &s.loc, &s.loclists} {
		if v.z != nil {
			v.z.drop()
		}
	}
}

// readSplit returns the debug sections of a file of split units. Addresses, ranges of DWARF 4 and lines are in the
// file that has the skeleton units.
func (s *dwarfSections) readSplit(in *File) dwarfSections {
	split := dwarfSections{line: s.line, lineStr: s.lineStr, ranges: s.ranges, addr: s.addr}
	for name, v := range map[string]*view{
		splitInfo: &split.info, ".debug_abbrev.dwo": &split.abbrev, ".debug_str.dwo": &split.str,
		".debug_str_offsets.dwo": &split.strOffs, ".debug_rnglists.dwo": &split.rnglists,
		".debug_loclists.dwo": &split.loclists,
	} {
		*v = in.sectionView(name)
	}
	return split
}
