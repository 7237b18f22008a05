package hostile

import "bytes"

// unitOf returns a unit with these entries.
func unitOf(entries []byte) []byte {
	u := append(append(le.AppendUint16(nil, 4), 0, 0, 0, 0, 8), entries...)
	return append(le.AppendUint32(nil, uint32(len(u))), u...)
}

// Codes of the abbreviations of debug.
const (
	cuLines = iota + 1 // compile_unit: low_pc addr, high_pc data8, stmt_list data8
	cuRange            // compile_unit: ranges sec_offset
	sub                // subprogram with children: low_pc addr, high_pc data8, name strp
	inlined            // inlined_subroutine with children: abstract_origin ref4, low_pc addr, high_pc data8
	origin             // subprogram: abstract_origin ref4
)

var abbrevs = []byte{
	cuLines, 0x11, 1, 0x11, 1, 0x12, 7, 0x10, 7, 0, 0,
	cuRange, 0x11, 1, 0x55, 0x17, 0, 0,
	sub, 0x2e, 1, 0x11, 1, 0x12, 7, 3, 0x0e, 0, 0,
	inlined, 0x1d, 1, 0x31, 0x13, 0x11, 1, 0x12, 7, 0, 0,
	origin, 0x2e, 0, 0x31, 0x13, 0, 0,
	0,
}

// debug adds the sections of some units.
func (f *File) debug(abbrevs, info []byte) {
	f.section(section{name: ".debug_abbrev", kind: 1}, abbrevs)
	f.section(section{name: ".debug_info", kind: 1}, info)
}

// covering returns an entry, or its beginning, that covers the text.
func (f *File) covering(b []byte) []byte {
	return le.AppendUint64(le.AppendUint64(b, text), uint64(f.textSize))
}

// unit adds one unit whose lines are at an offset.
func (f *File) unit(lines uint64) {
	f.debug(abbrevs, unitOf(le.AppendUint64(f.covering([]byte{cuLines}), lines)))
}

// units: very many units that cover the text.
func units(f *File, n int) {
	f.rows()
	f.debug(abbrevs, bytes.Repeat(unitOf(le.AppendUint64(f.covering([]byte{cuLines}), 0)), or(n, 200_000)))
}

// abbrev: the first entry of each of very many units has the last abbreviation of a long table.
func abbrev(f *File, n int) {
	var table []byte
	codes := uint64(part(n, 60_000))
	for code := range codes - 1 {
		table = append(uleb(table, code+1), 0x24, 0)
		table = append(append(table, bytes.Repeat([]byte{0x0b, 0x0b}, 28)...), 0, 0)
	}
	table = append(uleb(table, codes), 0x11, 0, 0x11, 1, 0, 0, 0)
	f.rows()
	f.debug(table, bytes.Repeat(unitOf(le.AppendUint64(uleb(nil, codes), 0x900000)), or(n, 200_000)))
}

// nested: functions in functions, each of which covers the text, with one long name.
func nested(f *File, n int) {
	entries := le.AppendUint64(f.covering([]byte{cuLines}), 0)
	for range or(n, 200_000) {
		entries = le.AppendUint32(f.covering(append(entries, sub)), 0)
	}
	f.rows()
	f.section(section{name: ".debug_str", kind: 1}, append(bytes.Repeat([]byte("s"), 32<<10), 0))
	f.debug(abbrevs, unitOf(append(entries, make([]byte, or(n, 200_000)+1)...)))
}

// origins: inlined functions, nested, whose origins lead from one to the next in a long chain that ends in a circle.
func origins(f *File, n int) {
	const first = 11 // offset of the first entry in the unit
	n = or(n, 200_000)
	entries := le.AppendUint64(f.covering([]byte{cuLines}), 0)
	entries = le.AppendUint32(f.covering(append(entries, sub)), 0)
	chain := first + len(entries)
	for i := range n {
		next := chain + 5*((i+1)%n)
		entries = le.AppendUint32(append(entries, origin), uint32(next))
	}
	for i := range n {
		entries = f.covering(le.AppendUint32(append(entries, inlined), uint32(chain+5*i)))
	}
	f.rows()
	f.section(section{name: ".debug_str", kind: 1}, []byte("s\x00"))
	f.debug(abbrevs, unitOf(append(entries, make([]byte, n+2)...)))
}

// ranges: very many units have the same long list of ranges.
func ranges(f *File, n int) {
	var list []byte
	for i := range part(n, 60_000) {
		at := text + uint64(i%f.textSize)
		list = le.AppendUint64(le.AppendUint64(list, at), at+1)
	}
	f.rows()
	f.section(section{name: ".debug_ranges", kind: 1}, append(list, make([]byte, 16)...))
	f.debug(abbrevs, bytes.Repeat(unitOf([]byte{cuRange, 0, 0, 0, 0, 0}), or(n, 200_000)))
}

// lineTable returns a line table with n directories and n files, all of which have the name at offset 0 of .debug_line_str.
func lineTable(n int, program []byte) []byte {
	h := append([]byte{1, 1, 1, 0xfb, 14, 13}, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
	for range 2 {
		h = append(uleb(append(h, 1, 1, 0x1f), uint64(n)), make([]byte, 4*n)...)
	}
	u := append(le.AppendUint16(nil, 5), 8, 0)
	u = append(append(le.AppendUint32(u, uint32(len(h))), h...), program...)
	return append(le.AppendUint32(nil, uint32(len(u))), u...)
}

// setAddress is the operation that sets the address of a line program to the text.
func setAddress() []byte { return le.AppendUint64([]byte{0, 9, 2}, text) }

// rows adds a line table that covers the text.
func (f *File) rows() {
	program := append(uleb(append(setAddress(), 1, 2), uint64(f.textSize)), 0, 1, 1)
	f.section(section{name: ".debug_line", kind: 1}, lineTable(1, program))
	f.section(section{name: ".debug_line_str", kind: 1}, []byte("d\x00"))
}

// lines: a line table all of whose files have one long name.
func lines(f *File, n int) {
	program := append(uleb(append(setAddress(), 1, 2), uint64(f.textSize)), 0, 1, 1)
	f.section(section{name: ".debug_line", kind: 1}, lineTable(or(n, 60_000), program))
	f.section(section{name: ".debug_line_str", kind: 1}, append(bytes.Repeat([]byte("d"), 32760), 0))
	f.unit(0)
}

// lineProgram: the sequences of a line program cover the text again and again.
func lineProgram(f *File, n int) {
	rows := append(append(setAddress(), bytes.Repeat([]byte{0x20}, part(n, 2000))...), 0, 1, 1)
	f.section(section{name: ".debug_line", kind: 1}, lineTable(1, bytes.Repeat(rows, or(n, 4000))))
	f.section(section{name: ".debug_line_str", kind: 1}, []byte("d\x00"))
	f.unit(0)
}

// letters: very many FDEs have one CIE with a megabyte of letters, none of which is one.
func (f *File) letters(n int) {
	var b []byte
	record := func(body []byte) { b = append(le.AppendUint32(b, uint32(len(body))), body...) }
	record(append(append([]byte{0, 0, 0, 0, 1}, bytes.Repeat([]byte("x"), 256*n)...), 0, 1, 0x78))
	for range n {
		body := le.AppendUint32(nil, uint32(len(b)+4))
		record(f.covering(body))
	}
	f.section(section{name: ".eh_frame", kind: 1, flags: 2, addr: 0x30000000}, append(b, 0, 0, 0, 0))
}

// shared: for each byte of the text the search table has an entry, and all lead to one FDE with very many rows.
func (f *File) shared(n int) {
	const frame, table = 0x30000000, 0x38000000
	cie := append([]byte{0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10, 1, 0}, 0x0c, 7, 8, 0x90, 1, 0)
	b := append(le.AppendUint32(nil, uint32(len(cie))), cie...)
	fde := len(b)
	body := le.AppendUint32(nil, uint32(fde+4))
	body = append(le.AppendUint64(le.AppendUint64(body, text), 1<<31), 0)
	body = append(body, bytes.Repeat([]byte{0x41, 0x0e, 16, 0x41, 0x0e, 8}, n/6)...) // advance by 1; CFA at rsp+16; ... rsp+8
	b = append(append(le.AppendUint32(b, uint32(len(body))), body...), 0, 0, 0, 0)
	off := func(v, from uint64) uint32 { return uint32(v - from) }
	hdr := append(le.AppendUint32([]byte{1, 0x1b, 3, 0x3b}, off(frame, table+4)), le.AppendUint32(nil, uint32(f.textSize))...)
	for i := range uint64(f.textSize) {
		hdr = le.AppendUint32(le.AppendUint32(hdr, off(text+i, table)), off(frame+uint64(fde), table))
	}
	f.section(section{name: ".eh_frame", kind: 1, flags: 2, addr: frame}, b)
	f.section(section{name: ".eh_frame_hdr", kind: 1, flags: 2, addr: table}, hdr)
}

// frames adds call frame information: CIEs, each with fdes FDEs for each function, and a program that each FDE runs.
func (f *File) frames(cies, fdes int, program []byte) {
	var b []byte
	record := func(body []byte) {
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
		b = append(le.AppendUint32(b, uint32(len(body))), body...)
	}
	for range cies {
		cie := len(b)
		head := append([]byte{0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10, 1, 0}, 0x0c, 7, 8, 0x90, 1)
		record(append(head, program...))
		for range fdes {
			for i := range f.starts {
				start, end := f.function(i)
				body := le.AppendUint32(nil, uint32(len(b)+4-cie))
				record(append(le.AppendUint64(le.AppendUint64(body, start), end-start), 0))
			}
		}
	}
	f.section(section{name: ".eh_frame", kind: 1, flags: 2, addr: 0x30000000}, append(b, 0, 0, 0, 0))
}
