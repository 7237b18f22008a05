package rtld

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"iter"
)

// Slot is a word in the data of an object that the linker fills with the address of a function. It
// is mostly in the global offset table. Addresses are link-time addresses.
type Slot struct {
	Addr     uint64
	Name     string // symbol that it refers to, without version; "": none
	Resolver uint64 // function whose result is the value (R_X86_64_IRELATIVE); 0: none
}

// Sizes of the entries of .rela sections and symbol tables (<elf.h>).
const (
	relaSize = 24
	symSize  = 24
)

// Slots returns the function slots that a section of x86-64 relocations describes. dynsym and dynstr
// have the symbols that it refers to, and may be nil. Entries that refer to nothing are left out.
func Slots(rela, dynsym, dynstr []byte) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for ; len(rela) >= relaSize; rela = rela[relaSize:] {
			kind, sym := binary.LittleEndian.Uint32(rela[8:]), binary.LittleEndian.Uint32(rela[12:])
			s := Slot{Addr: binary.LittleEndian.Uint64(rela)}
			switch elf.R_X86_64(kind) { // those that fill function slots
			case elf.R_X86_64_IRELATIVE:
				s.Resolver = binary.LittleEndian.Uint64(rela[16:])
			case elf.R_X86_64_GLOB_DAT, elf.R_X86_64_JMP_SLOT:
				s.Name = symbolName(sym, dynsym, dynstr)
			}
			if (s.Name != "" || s.Resolver != 0) && !yield(s) {
				return
			}
		}
	}
}

// symbolName returns the name of symbol number i, or "".
func symbolName(i uint32, dynsym, dynstr []byte) string {
	at := uint64(i) * symSize
	if i == 0 || at+symSize > uint64(len(dynsym)) {
		return ""
	}
	name := uint64(binary.LittleEndian.Uint32(dynsym[at:]))
	if name >= uint64(len(dynstr)) {
		return ""
	}
	b := dynstr[name:]
	b = b[:min(len(b), maxName)]
	if end := bytes.IndexByte(b, 0); end >= 0 {
		return string(b[:end])
	}
	return ""
}
