package goroutines

import (
	"encoding/binary"
	"slices"

	"ptools/internal/elfsym"
)

var le = binary.LittleEndian

// maxFunction bounds the code that is searched.
const maxFunction = 16 << 10

// sliceRefs returns the link-time addresses of the slices that a function may use: of its pointer, length and capacity. In code
// of x86-64 a variable's address is relative to the instruction behind, and fills its last four bytes.
func sliceRefs(f *elfsym.File, function string) (found []uint64) {
	for _, sym := range f.ByName(function) {
		code := make([]byte, min(sym.Size, maxFunction))
		if !f.ReadAddr(code, sym.Addr) {
			continue
		}
		var refs []uint64
		for i := 1; i+4 <= len(code); i++ {
			if relative := code[i-1]&0xc7 == 0x05; relative { // mod 0, r/m 5
				refs = append(refs, sym.Addr+uint64(i)+4+uint64(int64(int32(le.Uint32(code[i:])))))
			}
		}
		for _, at := range refs {
			if at%8 == 0 && slices.Contains(refs, at+8) && slices.Contains(refs, at+16) && !slices.Contains(found, at) {
				found = append(found, at)
			}
		}
	}
	return found
}
