package goroutines

import (
	"encoding/binary"
	"slices"

	"ptools/internal/elfsym"
)

var le = binary.LittleEndian

// maxFunction bounds the code that is searched.
const maxFunction = 16 << 10

// references returns the link-time addresses that a function may use. In code of x86-64 a variable's address is relative to the
// instruction behind, and fills its last four bytes.
func references(f *elfsym.File, function string) (refs []uint64) {
	for _, sym := range f.ByName(function) {
		code := make([]byte, min(sym.Size, maxFunction))
		if !f.ReadAddr(code, sym.Addr) {
			continue
		}
		for i := 1; i+4 <= len(code); i++ {
			if relative := code[i-1]&0xc7 == 0x05; relative { // mod 0, r/m 5
				refs = append(refs, sym.Addr+uint64(i)+4+uint64(int64(int32(le.Uint32(code[i:])))))
			}
		}
	}
	return refs
}

// sliceRefs returns the slices among references: pointer, length and capacity are used.
func sliceRefs(refs []uint64) (found []uint64) {
	for _, at := range refs {
		if at%8 == 0 && slices.Contains(refs, at+8) && slices.Contains(refs, at+16) && !slices.Contains(found, at) {
			found = append(found, at)
		}
	}
	return found
}

// tableRefs returns the run-time addresses that references lead to through a table of addresses (GOT). Code that is linked dynamically
// uses variables so: that of plugins uses those of the program.
func tableRefs(refs []uint64, bias uint64, m Memory) (found []uint64) {
	for _, ref := range refs {
		var b [8]byte
		if n, _ := m.ReadAt(b[:], int64(ref+bias)); ref%8 != 0 || n < len(b) {
			continue
		}
		if at := le.Uint64(b[:]); at != 0 && at%8 == 0 && !slices.Contains(found, at) {
			found = append(found, at)
		}
	}
	return found
}
