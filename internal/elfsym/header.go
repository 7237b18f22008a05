package elfsym

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"unsafe"
)

// ErrFormat is returned for a file that is not a little-endian 64-bit ELF
// file, or whose header tables are outside of it.
var ErrFormat = errors.New("not a 64-bit little-endian ELF file")

const (
	ehdrSize = 64
	phdrSize = 56
	shdrSize = 64
	symSize  = 24
	relaSize = 24
	dynSize  = 16
	chdrSize = 24

	maxHeaders  = 1 << 11 // of programs; the kernel executes a file with at most 1,170
	maxSections = 1 << 10 // programs and libraries have some 30
)

// A Segment is one loadable part (PT_LOAD) of the file.
type Segment struct {
	Off, Vaddr, Filesz, Memsz uint64
	Flags                     elf.ProgFlag
}

// contains reports whether addr is in the part of s that the file holds.
func (s *Segment) contains(addr uint64) bool {
	return addr >= s.Vaddr && addr-s.Vaddr < s.Filesz
}

type prog struct {
	Segment
	kind elf.ProgType
}

type section struct {
	name    string
	kind    elf.SectionType
	flags   elf.SectionFlag
	addr    uint64
	off     uint64
	size    uint64
	link    uint32
	info    uint32
	entsize uint64
}

// headers is the part of the file that New reads.
type headers struct {
	kind     elf.Type
	machine  elf.Machine
	entry    uint64
	progs    []prog
	sections []section
}

// size returns how much memory the headers take.
func (h *headers) size() int64 {
	n := int64(unsafe.Sizeof(prog{}))*int64(len(h.progs)) + int64(unsafe.Sizeof(section{}))*int64(len(h.sections))
	for i := range h.sections {
		n += int64(len(h.sections[i].name))
	}
	return n
}

// readHeaders reads the ELF header and both header tables. Invalid sections
// are left out: a running program does not need them.
func readHeaders(file view) (*headers, error) {
	eh, ok := file.bytes(0, ehdrSize)
	if !ok || string(eh[:4]) != elf.ELFMAG ||
		elf.Class(eh[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(eh[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return nil, ErrFormat
	}
	h := &headers{
		kind:    elf.Type(le.Uint16(eh[16:])),
		machine: elf.Machine(le.Uint16(eh[18:])),
		entry:   le.Uint64(eh[24:]),
	}
	phoff, shoff := le.Uint64(eh[32:]), le.Uint64(eh[40:])
	phentsize, phnum := le.Uint16(eh[54:]), uint32(le.Uint16(eh[56:]))
	shentsize, shnum, shstrndx := le.Uint16(eh[58:]), uint32(le.Uint16(eh[60:])), uint32(le.Uint16(eh[62:]))
	if shoff != 0 && shentsize == shdrSize {
		// A count or index too large for the header is in section 0.
		if b, ok := file.bytes(shoff, shdrSize); ok {
			first := parseSection(b)
			if shnum == 0 {
				shnum = uint32(min(first.size, maxSections+1))
			}
			if shstrndx == uint32(elf.SHN_XINDEX) {
				shstrndx = first.link
			}
			if phnum == 0xffff && first.info != 0 {
				phnum = first.info
			}
		}
		h.sections = readSections(file, shoff, shnum, shstrndx)
	}
	if phnum > 0 {
		if phentsize != phdrSize || phnum > maxHeaders {
			return nil, ErrFormat
		}
		b, ok := file.bytes(phoff, uint64(phnum)*phdrSize)
		if !ok {
			return nil, ErrFormat
		}
		h.progs = parseProgs(b, file.size)
	}
	return h, nil
}

func parseProgs(b []byte, size uint64) []prog {
	progs := make([]prog, 0, len(b)/phdrSize)
	for ; len(b) >= phdrSize; b = b[phdrSize:] {
		p := prog{
			kind: elf.ProgType(le.Uint32(b)),
			Segment: Segment{
				Flags:  elf.ProgFlag(le.Uint32(b[4:])),
				Off:    le.Uint64(b[8:]),
				Vaddr:  le.Uint64(b[16:]),
				Filesz: le.Uint64(b[32:]),
				Memsz:  le.Uint64(b[40:]),
			},
		}
		// A separate debug file keeps the offsets of segments whose contents
		// it lacks.
		if p.Off > size {
			p.Filesz = 0
		} else {
			p.Filesz = min(p.Filesz, size-p.Off)
		}
		p.Memsz = min(p.Memsz, ^uint64(0)-p.Vaddr)
		progs = append(progs, p)
	}
	return progs
}

func readSections(file view, shoff uint64, shnum, shstrndx uint32) []section {
	if shnum == 0 || shnum > maxSections || shstrndx >= shnum {
		return nil
	}
	b, ok := file.bytes(shoff, uint64(shnum)*shdrSize)
	if !ok {
		return nil
	}
	strs := parseSection(b[uint64(shstrndx)*shdrSize:])
	names := strs.view(file).load(8 << 20)
	sections := make([]section, shnum)
	for i := range sections {
		s := parseSection(b[i*shdrSize:])
		s.name = sectionName(names, uint64(le.Uint32(b[i*shdrSize:])))
		sections[i] = s
	}
	return sections
}

// sectionName returns the name at off. Names that are longer than any that is looked for are cut: all sections may share one.
func sectionName(names view, off uint64) string {
	const most = 64
	b := names.upTo(off, most)
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

func parseSection(b []byte) section {
	return section{
		kind:    elf.SectionType(le.Uint32(b[4:])),
		flags:   elf.SectionFlag(le.Uint64(b[8:])),
		addr:    le.Uint64(b[16:]),
		off:     le.Uint64(b[24:]),
		size:    le.Uint64(b[32:]),
		link:    le.Uint32(b[40:]),
		info:    le.Uint32(b[44:]),
		entsize: le.Uint64(b[56:]),
	}
}

// view returns the bytes of s as they are in the file. It is empty for a
// section without bytes, or beyond the end of the file.
func (s *section) view(file view) view {
	if s.kind == elf.SHT_NOBITS || s.kind == elf.SHT_NULL || s.off > file.size || s.size > file.size-s.off {
		return view{}
	}
	return file.sub(s.off, s.size)
}

func fileView(r io.ReaderAt, size int64, b *budget) view {
	return view{r: r, size: uint64(max(size, 0)), b: b}
}
