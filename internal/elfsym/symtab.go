package elfsym

import (
	"debug/elf"
)

// A symTable is a symbol table in the file, .symtab or .dynsym. It keeps no
// symbols in memory.
type symTable struct {
	syms  view
	count uint32
	names view
	dyn   *dynNames // of a dynamic table: hash tables and versions
}

// maxSymbols bounds the symbols of one table that are read: 1.5 GiB. The
// index has 28 bits for their numbers.
const maxSymbols = 1 << 26

// rawSym is a symbol as it is in the file, without its name.
type rawSym struct {
	name  uint32 // offset in the string table
	info  uint8
	shndx uint16
	value uint64
	size  uint64
}

func decodeSym(b []byte) rawSym {
	return rawSym{
		name:  le.Uint32(b),
		info:  b[4],
		shndx: le.Uint16(b[6:]),
		value: le.Uint64(b[8:]),
		size:  le.Uint64(b[16:]),
	}
}

func (s *rawSym) kind() elf.SymType { return elf.SymType(s.info & 15) }
func (s *rawSym) bind() elf.SymBind { return elf.SymBind(s.info >> 4) }

// defined reports whether s has an address of its own in this file.
func (s *rawSym) defined() bool {
	return s.shndx != uint16(elf.SHN_UNDEF) && s.shndx != uint16(elf.SHN_ABS) && s.shndx != uint16(elf.SHN_COMMON) && s.value != 0
}

func (t *symTable) sym(i uint32) (rawSym, bool) {
	var b [symSize]byte
	if i >= t.count || !t.syms.readAt(b[:], uint64(i)*symSize) {
		return rawSym{}, false
	}
	return decodeSym(b[:]), true
}

func (t *symTable) name(s *rawSym) string {
	n, _ := t.names.cstring(uint64(s.name))
	return n
}

// maxNames bounds the names that are read at once.
const maxNames = 64 << 20

// lent returns the table with its names in memory, which are read one by one otherwise, until repay is called.
func (t *symTable) lent() (lent *symTable, repay func()) {
	if t.names.mem != nil {
		return t, func() {}
	}
	names := t.names.loan(maxNames)
	if names.mem == nil {
		return t, func() {}
	}
	whole := *t
	whole.names = names
	return &whole, names.repay
}

// isMapping reports whether a symbol without a type is one of those that tell code and data apart in files for arm64 ("$x", "$d",
// "$x.7"): it names nothing.
func (t *symTable) isMapping(s *rawSym) bool {
	name := t.name(s)
	return len(name) >= 2 && name[0] == '$' && (name[1] == 'x' || name[1] == 'd') && (len(name) == 2 || name[2] == '.')
}

// scan calls f with every symbol in the order of the table, until it returns
// false.
func (t *symTable) scan(f func(i uint32, s rawSym) bool) {
	i := uint32(0)
	t.syms.scan(symSize, func(_ uint64, b []byte) bool {
		for ; len(b) >= symSize && i < t.count; b = b[symSize:] {
			s := decodeSym(b)
			if !f(i, s) {
				return false
			}
			i++
		}
		return i < t.count
	})
}

// symTables returns the file's own tables, the complete one first. A separate
// debug file has no usable .dynsym: that section is NOBITS there.
func (f *File) symTables() []*symTable {
	return f.contents().tables.get(func() []*symTable {
		var ts []*symTable
		if t := f.sectionTable(elf.SHT_SYMTAB); t != nil {
			ts = append(ts, t)
		}
		t := f.sectionTable(elf.SHT_DYNSYM)
		if t == nil {
			t = f.dynamicTable()
		}
		if t != nil {
			t.dyn = newDynNames(f, t)
			ts = append(ts, t)
		}
		return ts
	})
}

func (f *File) sectionTable(kind elf.SectionType) *symTable {
	for i := range f.hdr.sections {
		s := &f.hdr.sections[i]
		if s.kind != kind || int(s.link) >= len(f.hdr.sections) {
			continue
		}
		syms := s.view(f.file)
		names := f.hdr.sections[s.link].view(f.file)
		if s.compressed() || syms.size < symSize || names.size == 0 {
			continue
		}
		n := min(syms.size/symSize, maxSymbols)
		return &symTable{syms: syms, count: uint32(n), names: names}
	}
	return nil
}

// dynamicTable finds the dynamic symbols of a file without section headers.
// Only the hash tables show how many there are.
func (f *File) dynamicTable() *symTable {
	strsz := f.dyn()[elf.DT_STRSZ]
	t := &symTable{
		syms:  f.dynView(elf.DT_SYMTAB, maxSymbols*symSize),
		names: f.dynView(elf.DT_STRTAB, strsz),
	}
	if t.syms.size == 0 || t.names.size == 0 {
		return nil
	}
	limit := uint32(min(t.syms.size/symSize, maxSymbols))
	t.count = limit
	n := hashedSymbols(f, limit)
	if n == 0 {
		return nil
	}
	t.count = n
	t.syms = t.syms.sub(0, uint64(n)*symSize)
	return t
}
