package elfsym

import (
	"cmp"
	"debug/elf"
	"slices"
	"sort"
	"sync/atomic"
)

// An image is the parts of an ELF file: segments, sections, dynamic section, relocations, notes. File
// interprets them.
type image struct {
	file     view
	debug    bool // is a separate debug file, which has no contents of memory
	hdr      *headers
	base     uint64 // of a file in memory: what a run-time linker may have added to addresses
	segments []Segment
	text     []span // executable ranges, sorted
	dynamic  lazy[dynamic]
	now      atomic.Pointer[contents]
	*budget
}

// Entry returns the address at which execution starts, 0 if there is none.
func (f *image) Entry() uint64 { return f.hdr.entry }

// Segments returns the loadable segments in the order of the program headers.
// The caller must not change them.
func (f *image) Segments() []Segment { return f.segments }

func (f *image) prog(kind elf.ProgType) (Segment, bool) {
	for _, p := range f.hdr.progs {
		if p.kind == kind {
			return p.Segment, true
		}
	}
	return Segment{}, false
}

// ReadAddr fills b with the bytes of the file at a link-time address, and
// reports whether all of them are in one segment's file part.
func (f *image) ReadAddr(b []byte, addr uint64) bool {
	return f.addrView(addr).readAt(b, 0)
}

// addrView returns the bytes from addr to the end of its segment's file part.
func (f *image) addrView(addr uint64) view {
	for i := range f.segments {
		if s := &f.segments[i]; s.contains(addr) {
			return f.file.sub(s.Off+(addr-s.Vaddr), s.Filesz-(addr-s.Vaddr))
		}
	}
	return view{}
}

// A span is a range of addresses.
type span struct{ start, end uint64 }

// textSpans returns the executable sections, or without sections the
// executable segments, sorted and without overlaps.
func textSpans(h *headers) []span {
	var t []span
	const code = elf.SHF_ALLOC | elf.SHF_EXECINSTR
	for _, s := range h.sections {
		if s.flags&code == code && s.size > 0 && s.size < ^uint64(0)-s.addr {
			t = append(t, span{s.addr, s.addr + s.size})
		}
	}
	if t == nil {
		for _, p := range h.progs {
			if p.kind == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Memsz > 0 {
				t = append(t, span{p.Vaddr, p.Vaddr + p.Memsz})
			}
		}
	}
	slices.SortFunc(t, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(t); i++ {
		t[i].start = max(t[i].start, t[i-1].end)
		t[i].end = max(t[i].end, t[i].start)
	}
	return t
}

// textEnd returns the end of the executable range that holds addr.
func (f *image) textEnd(addr uint64) (uint64, bool) {
	i := sort.Search(len(f.text), func(i int) bool { return f.text[i].end > addr })
	if i == len(f.text) || f.text[i].start > addr {
		return 0, false
	}
	return f.text[i].end, true
}
