package hostile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// escapes: names that drive a terminal, or break a line, a stack or a page.
func escapes(f *File, n int) {
	var strs, syms bytes.Buffer
	strs.WriteByte(0)
	syms.Write(make([]byte, 24))
	for i := range f.starts {
		start, end := f.function(i)
		syms.Write(le.AppendUint64(le.AppendUint64(append(le.AppendUint32(nil, uint32(strs.Len())), 0x12, 0, 1, 0), start), end-start))
		fmt.Fprintf(&strs, "f%d%s\x00", i, Escapes[i%len(Escapes)])
	}
	link := len(f.sections) + 1
	f.section(section{name: ".symtab", kind: 2, link: uint64(link), info: 1, entry: 24}, syms.Bytes())
	f.section(section{name: ".strtab", kind: 3}, strs.Bytes())
}

// Escapes are texts that no output may have as they are: they move the cursor, set the title, ring, end a line, a stack or an
// element of a page, or are no UTF-8.
var Escapes = []string{
	"\x1b[2J\x1b[31m", "\x1b]0;title\a", "\r\n1 2 3", "\t", "\x7f\b\b", "\xc2\x9b2J", "\x9b2J", "\xff\xfe", "\u202e\u2066", "\u2028",
	";main;", " 99", "</script><script>alert(1)</script>", "<b>&amp;\"'", "\\u001b", "\"],[\"", "%n%s%p", "${HOME}`id`",
}

// bigNames: names of a megabyte.
func bigNames(f *File, n int) {
	size := or(n, 1<<20)
	var syms bytes.Buffer
	syms.Write(make([]byte, 24))
	for i := range f.starts {
		start, end := f.function(i)
		syms.Write(le.AppendUint64(le.AppendUint64(append(le.AppendUint32(nil, uint32(1+i)), 0x12, 0, 1, 0), start), end-start))
	}
	link := len(f.sections) + 1
	f.section(section{name: ".symtab", kind: 2, link: uint64(link), info: 1, entry: 24}, syms.Bytes())
	f.section(section{name: ".strtab", kind: 3}, slices.Concat([]byte{0}, bytes.Repeat([]byte("_ZN3abc"), size/7), []byte{0}))
}

// aliases: very many functions at one address have one name.
func aliases(f *File, n int) {
	start, end := f.function(1)
	sym := le.AppendUint64(le.AppendUint64(append(le.AppendUint32(nil, 1), 0x1a, 0, 1, 0), start), end-start) // STT_GNU_IFUNC
	link := len(f.sections) + 1
	f.section(section{name: ".symtab", kind: 2, link: uint64(link), info: 1, entry: 24}, append(make([]byte, 24), bytes.Repeat(sym, or(n, 400_000))...))
	f.section(section{name: ".strtab", kind: 3}, []byte("\x00f1\x00"))
}

// buildIDs: build ids of no byte, of one, and of a megabyte, again and again.
func buildIDs(f *File, n int) {
	var notes []byte
	for _, size := range []int{0, 1, 3, part(n, 1<<20), 20} {
		notes = le.AppendUint32(le.AppendUint32(le.AppendUint32(notes, 4), uint32(size)), 3)
		notes = append(append(notes, "GNU\x00"...), bytes.Repeat([]byte("/"), (size+3)&^3)...)
	}
	off := f.put(notes)
	f.segments = append(f.segments, segment{4, 4, off, base + off, uint64(len(notes))})
	f.repeat(or(n, 30_000), section{name: ".note.gnu.build-id", kind: 7}, notes)
}

// Names of a program that leads to itself as its own debug file, and as that of shared debug information.
const (
	selfLink = "selflink"
	altLink  = "altlink"
)

// leadsToItself: the separate debug file is this file.
func leadsToItself(f *File, n int) {
	f.section(section{name: ".gnu_debuglink", kind: 1}, []byte(selfLink+"\x00\x00\x00\x00\x00\x00\x00\x00")) // the checksum is wrong
	f.repeat(or(n, 1000), section{name: ".gnu_debugaltlink", kind: 1}, append([]byte(selfLink+"\x00"), make([]byte, 20)...))
}

// sharedInItself: names, and origins of entries, are in the file of shared debug information, which is this file.
func sharedInItself(f *File, n int) {
	abbrev := slices.Concat(
		[]byte{1, 0x11, 1, 0x11, 1, 0x12, 7}, uleb(uleb(nil, 3), 0x1f21), []byte{0, 0}, // name: DW_FORM_GNU_strp_alt
		[]byte{2, 0x2e, 1, 0x11, 1, 0x12, 7}, uleb(uleb(nil, 0x31), 0x1f20), []byte{0, 0}, // abstract_origin: DW_FORM_GNU_ref_alt
		[]byte{0})
	entries := le.AppendUint32(f.covering([]byte{1}), 0)
	for range or(n, 100_000) {
		entries = le.AppendUint32(f.covering(append(entries, 2)), uint32(11+21)) // the first of them
	}
	f.rows()
	f.section(section{name: ".debug_str", kind: 1}, []byte("s\x00"))
	f.section(section{name: ".gnu_debugaltlink", kind: 1}, append([]byte(altLink+"\x00"), bytes.Repeat([]byte{7}, 20)...))
	f.section(section{name: ".note.gnu.build-id", kind: 7}, append([]byte("\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00"), bytes.Repeat([]byte{7}, 20)...))
	f.debug(abbrev, unitOf(append(entries, make([]byte, or(n, 100_000)+1)...)))
}

// splits: each of very many units is in another file of split debug information.
func splits(f *File, n int) {
	abbrev := slices.Concat([]byte{1, 0x11, 0, 0x11, 1, 0x12, 7}, uleb(uleb(nil, 0x2130), 0x08), uleb(uleb(nil, 0x2131), 0x07), []byte{0, 0, 0})
	var info []byte
	for i := range or(n, 100_000) {
		u := append(f.covering([]byte{1}), fmt.Sprintf("%d.dwo\x00", i)...)
		info = append(info, unitOf(le.AppendUint64(u, uint64(i)))...)
	}
	f.debug(abbrev, info)
}

// beside: very many inlined functions that cover the text, beside each other.
func beside(f *File, n int) {
	entries := le.AppendUint64(f.covering([]byte{cuLines}), 0)
	first := 11 + len(entries)
	entries = le.AppendUint32(f.covering(append(entries, sub)), 0)
	for range or(n, 200_000) {
		entries = append(f.covering(le.AppendUint32(append(entries, inlined), uint32(first))), 0)
	}
	f.rows()
	f.section(section{name: ".debug_str", kind: 1}, []byte("s\x00"))
	f.debug(abbrevs, unitOf(append(entries, 0, 0)))
}

// needed: very many libraries with one long name.
func needed(f *File, n int) {
	link := len(f.sections) + 1
	entry := le.AppendUint64(le.AppendUint64(nil, 1), 1)
	f.section(section{name: ".dynamic", kind: 6, flags: 2, addr: 0x40000000, link: uint64(link), entry: 16}, bytes.Repeat(entry, or(n, 200_000)))
	f.section(section{name: ".dynstr", kind: 3}, []byte("\x00"+strings.Repeat("../", 10_000)+"\x00"))
}

// aranges: very many sets of addresses are those of one unit.
func aranges(f *File, n int) {
	f.unit(0)
	f.rows()
	set := append(le.AppendUint16(nil, 2), 0, 0, 0, 0, 8, 0, 0, 0, 0, 0)
	set = append(f.covering(set), make([]byte, 16)...)
	f.section(section{name: ".debug_aranges", kind: 1}, bytes.Repeat(append(le.AppendUint32(nil, uint32(len(set))), set...), or(n, 200_000)))
}

// wanders: the program that says where the frame begins jumps back for ever.
func wanders(f *File, n int) {
	loop := []byte{0x31, 0x13, 0x2f, 0xfb, 0xff} // lit1, drop, skip to the beginning
	f.frames(1, 1, append(uleb([]byte{0x0f}, uint64(len(loop))), loop...))
}

// backwards: the search table of call frames is sorted the wrong way, and says that it is endless.
func backwards(f *File, n int) {
	f.frames(1, 1, nil)
	const table = 0x38000000
	hdr := le.AppendUint32([]byte{1, 0x1b, 3, 0x3b, 0, 0, 0, 0xf8}, 0xffffffff)
	for i := range or(n, 500_000) {
		hdr = le.AppendUint32(le.AppendUint32(hdr, uint32(0x100000000+text-table-int64(i))), 0xf8000000)
	}
	f.section(section{name: ".eh_frame_hdr", kind: 1, flags: 2, addr: table}, hdr)
}
