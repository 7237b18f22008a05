package elfsym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

const (
	etDyn = elf.ET_DYN
	// maxGoScan is how far a file without section headers is searched.
	maxGoScan = 1 << 30
)

// findGoTable finds pclntab by its section, or by its first bytes in a Go
// program without section headers.
func (f *File) findGoTable() *GoTable {
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if s := f.section(name); s != nil && !s.compressed() {
			if g := openGoTable(f, s.view(f.file), s.addr); g != nil {
				return g
			}
		}
	}
	if !f.looksGo() {
		return nil
	}
	for _, s := range f.segments {
		if g := f.scanGoTable(s); g != nil {
			return g
		}
	}
	return nil
}

// looksGo reports whether a table is worth searching for. Externally linked
// programs and C programs with a Go library keep their sections. The
// remaining case is a program whose section headers were removed. It has the
// Go linker's note or the mark of its build information.
func (f *File) looksGo() bool {
	if f.note("Go\x00\x00", noteGoID) != nil {
		return true
	}
	for _, s := range f.segments {
		if s.Flags&elf.PF_W != 0 {
			return bytes.Contains(f.file.upTo(s.Off, min(s.Filesz, 64<<10)), []byte("\xff Go buildinf:"))
		}
	}
	return false
}

// maxGoTables and maxGoModules bound how many places are tried that look like the beginning of a table or of module data: each
// costs as much as the file makes it cost.
const (
	maxGoTables  = 16
	maxGoModules = 4096
)

// scanGoTable looks for the header of a table at the aligned places of s.
func (f *File) scanGoTable(s Segment) *GoTable {
	var found *GoTable
	v := f.file.sub(s.Off, min(s.Filesz, maxGoScan))
	tail := []byte{0xff, 0xff, 0xff, 0, 0} // common to all versions, after the first byte
	tries := 0
	v.find(tail, func(off uint64, _ []byte, p int) bool {
		at := off + uint64(p) - 1
		if p == 0 || (s.Vaddr+at)%8 != 0 {
			return true
		}
		if magic, _ := v.u32(at); goMagics[magic] == 0 {
			return true
		}
		found = openGoTable(f, v.sub(at, maxLoad), s.Vaddr+at)
		tries++
		return found == nil && tries < maxGoTables
	})
	return found
}

// goModule has the needed fields of runtime.moduledata.
type goModule struct {
	text   uint64 // runtime.text
	gofunc uint64 // the base of the offsets of function data
}

// Offsets in runtime.moduledata. It starts with the address of the table,
// followed by that of the names.
const (
	moduleText      = 22 * 8
	moduleGofunc118 = 38 * 8
	moduleGofunc120 = 40 * 8 // coverage counters came before it
	moduleSize      = 42 * 8
)

// readModule finds runtime.moduledata: by its section (Go 1.26), or by its
// first words, a pointer to the table and one to the names.
func (g *GoTable) readModule() goModule {
	return g.module.get(func() goModule {
		if s := g.file.section(".go.module"); s != nil {
			if m, ok := g.moduleAt(s.addr); ok {
				return m
			}
		}
		for _, s := range g.file.segments {
			if s.Flags&elf.PF_X == 0 {
				if m, ok := g.scanModule(s); ok {
					return m
				}
			}
		}
		var m goModule
		g.file.relocs(func(r reloc) bool {
			ok := false
			if uint64(r.addend) == g.addr {
				m, ok = g.moduleAt(r.off)
			}
			return !ok
		})
		return m
	})
}

func (g *GoTable) scanModule(s Segment) (m goModule, ok bool) {
	pat := binary.LittleEndian.AppendUint64(nil, g.addr)
	tries := 0
	g.file.file.sub(s.Off, min(s.Filesz, maxGoScan)).find(pat, func(off uint64, _ []byte, p int) bool {
		m, ok = g.moduleAt(s.Vaddr + off + uint64(p))
		tries++
		return !ok && tries < maxGoModules
	})
	return m, ok
}

// moduleAt reads the module data at addr and checks it against the table.
func (g *GoTable) moduleAt(addr uint64) (goModule, bool) {
	b := make([]byte, moduleSize)
	if addr%8 != 0 || !g.file.relocated(b, addr) {
		return goModule{}, false
	}
	if le.Uint64(b) != g.addr || le.Uint64(b[8:])-g.addr >= maxLoad {
		return goModule{}, false
	}
	m := goModule{text: le.Uint64(b[moduleText:])}
	if _, ok := g.file.textEnd(m.text); !ok {
		return goModule{}, false
	}
	switch g.version {
	case go118:
		m.gofunc = le.Uint64(b[moduleGofunc118:])
	case go120:
		m.gofunc = le.Uint64(b[moduleGofunc120:])
	}
	return m, true
}

// findText sets the base of the entries, and checks that entries are
// addresses of code. From 1.18 on entries are relative to runtime.text, which
// in programs with C code is not the start of the section.
func (g *GoTable) findText() bool {
	if g.version >= go118 {
		if g.text == 0 || !g.plausible() {
			g.text = g.readModule().text
		}
		if g.text == 0 {
			if s := g.file.section(".text"); s != nil {
				g.text = s.addr
			}
		}
	}
	return g.plausible()
}

// plausible reports whether the first function starts in code and the last one
// ends in code.
func (g *GoTable) plausible() bool {
	first, last := g.entry(0), g.entry(g.nfunc)
	_, ok1 := g.file.textEnd(first)
	_, ok2 := g.file.textEnd(last - 1)
	return ok1 && ok2 && first < last
}
