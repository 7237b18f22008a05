package elfsym

import (
	"debug/dwarf"
	"slices"

	"ptools/internal/cursor"
)

const (
	maxSearched = 64 << 20 // bytes of entries that one search reads
	maxOrigins  = 1 << 18  // functions whose names one search reads

	keptCallSize   = 96 // of a function whose calls are kept, without its names
	keptCallerSize = 16 // of one that it was inlined into
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
	for i := uint32(0); i < g.nfunc && len(found) < maxFound; i++ {
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
			if c, ok := g.inlinedCall(f, n); !ok {
				break
			} else if places[c.name] {
				found[f.Name] = true
				break
			}
		}
	}
}

// inlinedIn adds the functions that have an inlined call of name. The first search reads all debug information. Later ones have
// what it has found, if there was memory for it: of a list of names each is looked for.
func (d *dwarfFile) inlinedIn(name string, found map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := inlineSearch{name: name, query: newQuery(name), mentions: make(map[*dwarfFile]bool), found: found}
	if d.inlined != nil {
		for f, in := range d.inlined {
			if s.means(f) {
				s.addAll(d, in)
			}
		}
		return
	}
	s.names, s.kept = make(map[origin]functionNames), keptCalls{b: d.f.budget, calls: make(inlinedCalls)}
	whole := true
	d.eachUnit(func(u *unit) bool {
		if _, ok := u.readRoot(); ok {
			s.unit(d.full(u))
		}
		whole = s.read < maxSearched && len(s.names) < maxOrigins && len(found) < maxFound
		return whole
	})
	if whole && !s.skipped {
		d.inlined = s.kept.calls
	} else {
		s.kept.repay()
	}
}

// inlinedCalls has, for functions that were inlined, the offsets of the functions that they were inlined into.
type inlinedCalls map[functionNames][]uint64

// functionNames are the name of a function, and that in the file.
type functionNames struct{ name, raw string }

// keptCalls are the calls that a search has found, as long as there is memory for them.
type keptCalls struct {
	b     *budget
	calls inlinedCalls // nil: there was too little memory
	bytes uint64
}

func (k *keptCalls) add(f functionNames, in uint64) {
	if k.calls == nil {
		return
	}
	all, known := k.calls[f]
	if known && all[len(all)-1] == in {
		return
	}
	n := uint64(keptCallerSize)
	if !known {
		n += uint64(keptCallSize + len(f.name) + len(f.raw))
	}
	if k.bytes+n > uint64(k.b.tables()) || !k.b.spare(n) {
		k.repay()
		return
	}
	k.bytes += n
	k.calls[f] = append(all, in)
}

func (k *keptCalls) repay() {
	k.b.repay(k.bytes)
	k.calls, k.bytes = nil, 0
}

// origin is the entry of a function of which there are inlined calls.
type origin struct {
	d   *dwarfFile
	off uint64
}

// inlineSearch looks for the inlined calls of one function.
type inlineSearch struct {
	name     string
	query    query
	names    map[origin]functionNames
	mentions map[*dwarfFile]bool // the name is among the strings
	found    map[string]bool
	kept     keptCalls
	skipped  bool   // some units do not mention the name
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
		if around == 0 || len(s.names) >= maxOrigins {
			return around
		}
		if c, ok := s.called(u, e); ok {
			if s.means(c) {
				s.add(u, around)
			}
			s.kept.add(c, around)
		}
		return around
	}, nil)
}

// addAll adds functions of d.
func (s *inlineSearch) addAll(d *dwarfFile, offsets []uint64) {
	for _, off := range offsets {
		if u, ok := d.unitOf(off); ok && len(s.found) < maxFound {
			s.add(u, off)
		}
	}
}

// add adds the function whose entry is at off of a unit to those that have been found.
func (s *inlineSearch) add(u *unit, off uint64) {
	in, _ := u.functionName(off)
	s.found[in] = true
}

// mentioned reports whether the last part of the name is among the strings that units of d refer to, which is soon known.
func (s *inlineSearch) mentioned(d *dwarfFile) bool {
	m, ok := s.mentions[d]
	if ok {
		return m
	}
	part, ok := lastIdentifier(s.name)
	if !ok {
		part = s.name
	}
	in := func(d *dwarfFile) (found bool) {
		for _, v := range []view{d.str, d.info} { // short names are in the entries
			v.find([]byte(part), func(uint64, []byte, int) bool {
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

// means reports whether a function is the one that is looked for.
func (s *inlineSearch) means(f functionNames) bool {
	return f.raw == s.name && f.name == f.raw || f.name == s.name || withoutAnonymous(f.name) == s.name || mangled(f.raw) && s.query.fits(f.raw)
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
	u.inWalk = &walked{data, abbrevs} // for the entries that visit has to look up
	defer func() { u.inWalk = nil }()
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
