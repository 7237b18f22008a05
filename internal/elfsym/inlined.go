package elfsym

import (
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

// inlinedIn adds the functions that have an inlined call of name.
func (d *dwarfFile) inlinedIn(name string, found map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := inlineSearch{name: name, query: newQuery(name), matches: make(map[origin]bool), mentions: make(map[*dwarfFile]bool), found: found}
	d.eachUnit(func(u *unit) bool {
		if _, ok := u.readRoot(); ok {
			s.unit(d.full(u))
		}
		return s.read < maxSearched && len(s.matches) < maxOrigins && len(found) < maxFound
	})
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
	matches  map[origin]bool
	mentions map[*dwarfFile]bool // the name is among the strings
	found    map[string]bool
	read     uint64 // bytes of entries
}

func (s *inlineSearch) unit(u *unit) {
	if !s.mentioned(u.d) {
		return
	}
	s.read += u.end - u.entries
	names := func(tag dwarf.Tag) bool { return tag == dwarf.TagSubprogram || tag == dwarf.TagInlinedSubroutine }
	u.walk(names, func(e *die, around uint64) uint64 {
		if e.abbrev.tag == dwarf.TagSubprogram {
			return e.off
		}
		if around != 0 && len(s.matches) < maxOrigins && s.means(u, e) {
			in, _ := u.functionName(around)
			s.found[in] = true
		}
		return around
	}, nil)
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

// means reports whether an inlined call is one of the function.
func (s *inlineSearch) means(u *unit, e *die) bool {
	d, off := u.follow(e.origin)
	if d == nil || off == 0 {
		return false
	}
	o := origin{d, off}
	m, ok := s.matches[o]
	if !ok {
		name, raw := u.functionName(e.off)
		m = name != "" && (raw == s.name && name == raw || name == s.name || withoutAnonymous(name) == s.name || mangled(raw) && s.query.fits(raw))
		s.matches[o] = m
	}
	return m
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
