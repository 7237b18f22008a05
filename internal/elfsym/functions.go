package elfsym

import "debug/elf"

// Functions calls found with the functions that a file defines, until it returns false: those of Go's table, and those
// of the symbol tables. A function may have several names, and comes once for each. Several tables may have the same
// name. Functions reads all symbols. A name is demangled only by Sym.Name, which is therefore empty here: see
// [Demangled].
func Functions(f *File, found func(Sym) bool) {
	g, isGo := f.Go()
	if isGo {
		for i := range g.nfunc {
			r := g.read(i)
			if !found(r.symbol()) {
				return
			}
		}
	}
	for _, t := range f.allTables() {
		more, n := true, 0
		t, repay := t.lent()
		t.scan(func(i uint32, s rawSym) bool {
			if k := s.kind(); k != elf.STT_FUNC && k != elf.STT_GNU_IFUNC || !s.defined() {
				return true
			}
			if isGo {
				if _, ok := g.find(s.value); ok {
					return true
				}
			}
			c := t.candidate(i, &s)
			sym := Sym{Raw: c.name, Addr: s.value, Size: s.size, Kind: Func}
			if s.kind() == elf.STT_GNU_IFUNC {
				sym.Kind = IFunc
			}
			n++
			more = found(sym) && n < maxIndexed
			return more
		})
		repay()
		if !more {
			return
		}
	}
}

// Demangled returns the C++ or Rust name that a name in a symbol table stands for, with parameters; other names
// unchanged.
func Demangled(raw string) string { return demangled(raw) }

// CloneOf returns the name of the function that the compiler has made a complete copy of under this name, as
// name.constprop.0. Otherwise it returns the name.
func CloneOf(raw string) string {
	for i := len(raw) - 1; i > 0; i-- {
		if raw[i] == '.' && isClone(raw, raw[:i]) {
			return CloneOf(raw[:i])
		}
	}
	return raw
}
