package elfsym

import (
	"cmp"
	"debug/dwarf"
	"slices"

	"ptools/internal/cursor"
)

const (
	maxSearched = 64 << 20 // bytes of entries that one search reads
	maxOrigins  = 1 << 18  // functions whose names one search reads
)

// InlinedIn returns the functions that the functions of a name have been inlined into, sorted. The name is one that
// ByName takes. InlinedIn reads Go's tables, or the whole debug information, up to a bound: it may not know all.
func (f *File) InlinedIn(name string) []string {
	if name == "" || len(name) > maxName {
		return nil
	}
	found := make(map[string]bool)
	if g, ok := f.Go(); ok {
		g.inlinedIn(name, found)
	} else if d := f.dwarf(); d != nil {
		d.inlinedIn(name, found)
	}
	delete(found, "")
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Inlined returns the functions that have been inlined into others, and that match: their names as in a symbol table, each with one of the others. It
// reads Go's tables, or the whole debug information, up to a bound: it may not know all.
func Inlined(f *File, match func(raw string) bool) map[string]string {
	found := make(map[string]string)
	if g, ok := f.Go(); ok {
		names := make(map[uint32]string) // of those that match
		g.eachInlined(func(at uint32, in *goFunc) bool {
			name, known := names[at]
			if !known {
				if name, _ = g.names.cstring(uint64(at)); !match(name) {
					name = ""
				}
				names[at] = name
			}
			if name != "" && found[name] == "" {
				found[name] = in.Name
			}
			return len(found) < maxFound
		})
	} else if d := f.dwarf(); d != nil {
		d.search(&inlineSearch{
			means: func(name, raw string) bool { return match(cmp.Or(raw, name)) },
			tell: func(raw, in string) bool {
				if found[raw] == "" {
					found[raw] = in
				}
				return len(found) < maxFound
			},
		})
	}
	return found
}

// inlinedIn adds the functions that have a call of name in their inline trees.
func (g *GoTable) inlinedIn(name string, found map[string]bool) {
	q, ok := newGoQuery(name)
	if !ok {
		return
	}
	places := g.places(&q)
	if len(places) == 0 {
		return
	}
	g.eachInlined(func(name uint32, f *goFunc) bool {
		if places[name] {
			found[f.Name] = true
		}
		return len(found) < maxFound
	})
}

// eachInlined calls f with the name of each function that was inlined into another one, by its place in the names, and that one.
func (g *GoTable) eachInlined(tell func(name uint32, in *goFunc) (more bool)) {
	for i := uint32(0); i < g.nfunc; i++ {
		f := g.read(i)
		if f.inlTree == noFuncdata || f.inlIndex == 0 {
			continue
		}
		last := int32(-1)
		g.eachPC(f.inlIndex, func(r pcRow) bool {
			last = max(last, r.value)
			return true
		})
		for n := int32(0); n <= last; n++ {
			c, ok := g.inlinedCall(f, n)
			if !ok {
				break
			}
			if !tell(c.name, f) {
				return
			}
		}
	}
}

// inlinedIn adds the functions that have an inlined call of name.
func (d *dwarfFile) inlinedIn(name string, found map[string]bool) {
	query := newQuery(name)
	part, ok := lastIdentifier(name)
	if !ok {
		part = name
	}
	d.search(&inlineSearch{
		part: part,
		means: func(demangled, raw string) bool {
			return raw == name && demangled == raw || demangled == name || withoutAnonymous(demangled) == name || mangled(raw) && query.fits(raw)
		},
		tell: func(_, in string) bool {
			found[in] = true
			return len(found) < maxFound
		},
	})
}

// search goes through the inlined calls. The first search reads all debug information. Later ones have what it has found, if
// there was memory for it: of a list of names each is looked for.
func (d *dwarfFile) search(s *inlineSearch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inlined != nil {
		for f, in := range d.inlined {
			if s.means(f.name, f.raw) {
				s.tellAll(d, f, in)
			}
		}
		return
	}
	s.names, s.mentions = make(map[origin]functionNames), make(map[*dwarfFile]bool)
	s.kept = keptCalls{b: d.f.budget, calls: make(inlinedCalls)}
	whole := true
	d.eachUnit(func(u *unit) bool {
		if _, ok := u.readRoot(); ok {
			s.unit(d.full(u))
		}
		whole = s.read < maxSearched && len(s.names) < maxOrigins && !s.enough
		return whole
	})
	if whole && !s.skipped {
		d.inlined = s.kept.calls
	} else {
		s.kept.repay()
	}
}

// origin is the entry of a function of which there are inlined calls.
type origin struct {
	d   *dwarfFile
	off uint64
}

// inlineSearch looks for the inlined calls of functions.
type inlineSearch struct {
	part     string // the names that are meant have; empty: not known
	means    func(name, raw string) bool
	tell     func(raw, in string) (more bool) // is told of those that are meant, and the functions that they are in
	enough   bool
	names    map[origin]functionNames
	mentions map[*dwarfFile]bool // the part is among the strings
	kept     keptCalls
	skipped  bool   // some units do not mention the part
	read     uint64 // bytes of entries
}

func (s *inlineSearch) unit(u *unit) {
	if !s.mentioned(u.d) {
		s.skipped = true
		return
	}
	if u.d.split { // its file is closed after the search
		s.kept.repay()
	}
	s.read += u.end - u.entries
	names := func(tag dwarf.Tag) bool { return tag == dwarf.TagSubprogram || tag == dwarf.TagInlinedSubroutine }
	u.walk(names, func(e *die, around uint64) uint64 {
		if e.abbrev.tag == dwarf.TagSubprogram {
			return e.off
		}
		if around == 0 || len(s.names) >= maxOrigins || s.enough {
			return around
		}
		if f, ok := s.called(u, e); ok {
			if s.means(f.name, f.raw) {
				s.tellOf(u, f, around)
			}
			s.kept.add(f, around)
		}
		return around
	}, nil)
}

// tellAll tells of calls of f in functions of d.
func (s *inlineSearch) tellAll(d *dwarfFile, f functionNames, offsets []uint64) {
	for _, off := range offsets {
		if u, ok := d.unitOf(off); ok && !s.enough {
			s.tellOf(u, f, off)
		}
	}
}

// tellOf tells of a call of f in the function whose entry is at off of a unit.
func (s *inlineSearch) tellOf(u *unit, f functionNames, off uint64) {
	in, _ := u.functionName(off)
	s.enough = !s.tell(cmp.Or(f.raw, f.name), in)
}

// mentioned reports whether the part is among the strings that units of d refer to, which is soon known.
func (s *inlineSearch) mentioned(d *dwarfFile) bool {
	m, ok := s.mentions[d]
	if ok || s.part == "" {
		return m || s.part == ""
	}
	in := func(d *dwarfFile) (found bool) {
		for _, v := range []view{d.str, d.info} { // short names are in the entries
			v.find([]byte(s.part), func(uint64, []byte, int) bool {
				found = true
				return false
			})
		}
		return found
	}
	m = in(d)
	if sup := d.supplement(); !m && sup != nil {
		m = in(sup)
	}
	s.mentions[d] = m
	return m
}

// called returns the function that an inlined call is one of.
func (s *inlineSearch) called(u *unit, e *die) (functionNames, bool) {
	d, off := u.follow(e.origin)
	if d == nil || off == 0 {
		return functionNames{}, false
	}
	o := origin{d, off}
	f, ok := s.names[o]
	if !ok {
		f.name, f.raw = u.functionName(e.off)
		s.names[o] = f
	}
	return f, f.name != ""
}

// walk reads the entries of a unit in order. It calls visit with those of a tag that is wanted, and with what visit has
// returned for the innermost entry around it, 0 for none. It calls leave, unless that is nil, with what visit has returned
// for an entry, and the offset behind its children.
func (u *unit) walk(wanted func(dwarf.Tag) bool, visit func(e *die, outer uint64) uint64, leave func(inner, end uint64)) {
	size := u.end - u.entries
	if size > maxUnitBytes {
		return
	}
	data, ok := u.d.info.bytes(u.entries, size)
	abbrevs := readAbbrevs(u.d.abbrev, u.abbrevOff, 0, u)
	if !ok || abbrevs == nil {
		return
	}
	type level struct {
		value uint64
		own   bool // visit has returned it for the entry of this level
	}
	var e die
	levels := []level{{}}
	c := cursor.Cursor{B: data}
	for len(levels) < maxDepth {
		a, more := u.peek(&c, abbrevs)
		if a == nil {
			last := len(levels) - 1
			if !more || last <= 1 {
				return // an error, or the end of the unit's entry
			}
			if l := levels[last]; l.own && leave != nil {
				leave(l.value, u.entries+c.Off)
			}
			levels = levels[:last]
			continue
		}
		l := level{value: levels[len(levels)-1].value}
		switch {
		case wanted(a.tag):
			if !u.entry(&c, u.entries, abbrevs, &e) {
				return
			}
			l = level{visit(&e, l.value), true}
		case !a.wanted && a.fixed >= 0:
			c.Uleb()
			c.Skip(uint64(a.fixed))
		case !u.entry(&c, u.entries, abbrevs, &e):
			return
		}
		if a.children {
			levels = append(levels, l)
		}
	}
}
