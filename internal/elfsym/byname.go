package elfsym

import (
	"debug/elf"
	"slices"
	"strings"
	"sync"
)

// nameCache keeps the results of ByName, empty ones included.
type nameCache struct {
	mu sync.Mutex
	m  map[string][]Sym
}

const maxNameCache = 1024

// ByName returns the symbols defined under a name, the preferred one first and
// one for each address. The name may be
//
//   - the name in the symbol table, mangled or not: all versions of it, and the clones that the compiler has made of
//     it (name.constprop.0);
//   - name@VERSION or name@@VERSION: that version of it;
//   - name@plt: the stub;
//   - if nothing has that name, a demangled C++ or Rust name with or without
//     parameters and template arguments: all functions it fits;
//   - the name of a Go function, with or without the path of its package and type arguments: all instances.
//
// If the file has no full symbol table, its separate debug file or
// .gnu_debugdata is searched for names that are not among its dynamic
// symbols. The first look-up takes microseconds for a dynamic symbol, and
// otherwise a pass over the string table. Names that were looked up before,
// also in vain, come from a cache. The caller must not change the result.
func (f *File) ByName(name string) []Sym {
	if name == "" || len(name) > maxName {
		return nil
	}
	f.touch()
	c := &f.contents().byName
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.m[name]
	if !ok {
		found = f.findName(name)
		if c.m == nil || len(c.m) >= maxNameCache {
			c.m = make(map[string][]Sym)
		}
		c.m[name] = found
	}
	return found
}

func (f *File) findName(name string) []Sym {
	if strings.HasSuffix(name, "@plt") {
		return f.pltTab().byName(name)
	}
	if found := f.findRaw(name); found != nil {
		return found
	}
	if strings.Contains(name, ".") {
		if g, ok := f.Go(); ok {
			if found := g.byName(name); found != nil {
				return found
			}
		}
	}
	if !mangled(name) {
		if part, ok := mangledPart(name); ok {
			return f.eachTable(func(t *symTable, found *[]candidate) { t.demangledMatches(name, part, found) })
		}
	}
	return nil
}

// findRaw looks for the name as it is in the tables.
func (f *File) findRaw(name string) []Sym {
	base, version := name, ""
	if at := strings.IndexByte(name, '@'); at > 0 {
		base, version = name[:at], strings.TrimLeft(name[at:], "@")
	}
	return f.eachTable(func(t *symTable, found *[]candidate) { t.matches(base, version, found) })
}

// eachTable calls find with the file's own tables. If they are not complete
// and have nothing, it calls find with those of the other files.
func (f *File) eachTable(find func(t *symTable, found *[]candidate)) []Sym {
	var found []candidate
	own := f.symTables()
	for _, t := range own {
		find(t, &found)
	}
	if len(found) == 0 && (len(own) == 0 || own[0].dyn != nil) {
		for _, t := range f.allTables() {
			if !slices.Contains(own, t) {
				find(t, &found)
			}
		}
	}
	return ordered(found)
}

// ordered sorts what was found, and keeps only the best symbol at each
// address.
func ordered(found []candidate) []Sym {
	slices.SortStableFunc(found, func(a, b candidate) int { return a.compare(&b) })
	var syms []Sym
	seen := make(map[uint64]bool)
	for i := range found {
		if c := &found[i]; !seen[c.raw.value] {
			seen[c.raw.value] = true
			syms = append(syms, c.symbol())
		}
	}
	return syms
}

// maxFound bounds how many symbols of one name are returned, and how many
// places in the string table are followed up.
const (
	maxFound  = 1 << 12
	maxPlaces = 1 << 16
)

// matches appends the symbols with the name base, of the version if that is
// not empty.
func (t *symTable) matches(base, version string, found *[]candidate) {
	add := func(i uint32, s rawSym) {
		if !nameable(&s) || len(*found) >= maxFound {
			return
		}
		c := t.candidate(i, &s)
		if c.name == base && (version == "" || c.version == version) || version == "" && isClone(c.name, base) {
			*found = append(*found, c)
		}
	}
	if t.dyn != nil && t.dyn.each != nil {
		t.dyn.each(base, func(i uint32) {
			if s, ok := t.sym(i); ok {
				add(i, s)
			}
		})
		return
	}
	t.named(t.places(base), add)
}

// nameable reports whether s can be looked up by name: it has an address of
// its own in every process.
func nameable(s *rawSym) bool {
	switch s.kind() {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC, elf.STT_OBJECT, elf.STT_NOTYPE:
		return s.defined()
	}
	return false
}

// places returns the offsets of a name in the string table, where a NUL, a
// version or the suffix of a clone follows it. Linkers let names with the same end share bytes, so the
// byte before does not matter.
func (t *symTable) places(name string) map[uint32]bool {
	places := make(map[uint32]bool)
	pat := []byte(name)
	t.names.find(pat, func(off uint64, b []byte, p int) bool {
		if end := p + len(pat); end < len(b) && (b[end] == 0 || b[end] == '@' || b[end] == '.') {
			if len(places) >= maxPlaces {
				return false
			}
			places[uint32(off)+uint32(p)] = true
		}
		return true
	})
	return places
}

// named calls f with the symbols whose names are at those places.
func (t *symTable) named(places map[uint32]bool, f func(i uint32, s rawSym)) {
	if len(places) == 0 {
		return
	}
	var filter [64]uint64 // by the low bits; checked before the map
	for p := range places {
		filter[p>>6&63] |= 1 << (p & 63)
	}
	t.scan(func(i uint32, s rawSym) bool {
		if filter[s.name>>6&63]>>(s.name&63)&1 != 0 && places[s.name] {
			f(i, s)
		}
		return true
	})
}
