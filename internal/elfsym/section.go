package elfsym

import (
	"debug/elf"
	"iter"
	"strings"
	"sync"
)

// sectionCache holds the sections that were loaded whole, by name.
type sectionCache struct {
	mu sync.Mutex
	m  map[string]view
}

// Section returns a section's address and its bytes, decompressed. Sections
// .debug_* that the file itself lacks come from its separate debug file. If
// the section headers are stripped, .eh_frame_hdr and .eh_frame are found
// through PT_GNU_EH_FRAME. It reports false if there is none, or if it is
// larger than 128 MiB. The bytes are shared: the caller must not change them.
func (f *File) Section(name string) (addr uint64, data []byte, ok bool) {
	if s := f.section(name); s != nil {
		v := f.loadSection(name)
		return s.addr, v.mem, v.mem != nil
	}
	if strings.HasPrefix(name, ".debug_") {
		if o := f.separate(); o != nil {
			return o.Section(name)
		}
		return 0, nil, false
	}
	if len(f.hdr.sections) == 0 {
		return f.ehFrame(name)
	}
	return 0, nil, false
}

// SectionAddr returns the address of a section of the file itself. It does
// not read the section: code sections of a hundred megabytes are common.
func (f *image) SectionAddr(name string) (addr uint64, ok bool) {
	if s := f.section(name); s != nil {
		return s.addr, true
	}
	return 0, false
}

// section returns the header of the first section of that name that has
// bytes. Compressed sections in the old GNU form have a name of their own.
func (f *image) section(name string) *section {
	for s := range f.sectionsNamed(name) {
		return s
	}
	return nil
}

// sectionsNamed returns the headers of all sections of that name that have bytes.
func (f *image) sectionsNamed(name string) iter.Seq[*section] {
	zname := ""
	if rest, ok := strings.CutPrefix(name, ".debug_"); ok {
		zname = ".zdebug_" + rest
	}
	return func(yield func(*section) bool) {
		for i := range f.hdr.sections {
			s := &f.hdr.sections[i]
			if (s.name == name || s.name == zname && zname != "") && s.kind != elf.SHT_NOBITS && s.kind != elf.SHT_NULL && !yield(s) {
				return
			}
		}
	}
}

// sectionView returns the decompressed bytes of a section for piecewise
// reading. Only the bytes that are read of a compressed section are taken into
// memory.
func (f *image) sectionView(name string) view {
	if s := f.section(name); s != nil {
		return f.viewOf(s)
	}
	return view{}
}

// viewOf is sectionView for a section by its header.
func (f *image) viewOf(s *section) view {
	if s.compressed() {
		if z := inflate(s, s.view(f.file), f.budget); z != nil {
			return view{z: z, size: z.size, b: f.budget}
		}
		return view{}
	}
	return s.view(f.file)
}

// loadSection returns a section in memory, the same each time.
func (f *image) loadSection(name string) view {
	loaded := &f.contents().loaded
	loaded.mu.Lock()
	defer loaded.mu.Unlock()
	if v, ok := loaded.m[name]; ok {
		return v
	}
	v := f.sectionView(name)
	if v.z != nil || v.size <= maxLoad && f.budget.keep(v.size) {
		v = v.load(maxLoad)
	} else {
		v = view{}
	}
	if loaded.m == nil {
		loaded.m = make(map[string]view)
	}
	if len(loaded.m) < maxSections {
		loaded.m[name] = v
	}
	return v
}

// ehFrame finds the unwind tables of a file without section headers. The end
// of .eh_frame is not known then; its terminator ends it.
func (f *image) ehFrame(name string) (uint64, []byte, bool) {
	p, ok := f.prog(elf.PT_GNU_EH_FRAME)
	if !ok {
		return 0, nil, false
	}
	switch name {
	case ".eh_frame_hdr":
		b, ok := f.file.bytes(p.Off, p.Filesz)
		return p.Vaddr, b, ok
	case ".eh_frame":
		// Version 1, then the encoding of the pointer to .eh_frame, which
		// all linkers write as DW_EH_PE_pcrel|DW_EH_PE_sdata4.
		b, ok := f.file.bytes(p.Off, 8)
		if !ok || b[0] != 1 || b[1] != 0x1b {
			return 0, nil, false
		}
		addr := p.Vaddr + 4 + uint64(int64(int32(le.Uint32(b[4:]))))
		v := f.addrView(addr)
		if v.size == 0 {
			return 0, nil, false
		}
		v = v.load(maxLoad)
		return addr, v.mem, v.mem != nil
	}
	return 0, nil, false
}
