package elfsym

import "debug/elf"

// Variable returns the data symbol that covers a link-time address. It reads all symbols, which takes some
// milliseconds for a large file.
func (f *File) Variable(vaddr uint64) (Sym, bool) {
	var best candidate
	found := false
	for _, t := range f.allTables() {
		t.scan(func(i uint32, s rawSym) bool {
			if s.kind() != elf.STT_OBJECT || !s.defined() || vaddr < s.value || vaddr >= s.value+max(s.size, 1) {
				return true
			}
			if c := t.candidate(i, &s); !found || c.raw.value > best.raw.value || c.raw.value == best.raw.value && c.compare(&best) < 0 {
				best, found = c, true
			}
			return true
		})
	}
	if !found {
		return Sym{}, false
	}
	return best.symbol(), true
}
