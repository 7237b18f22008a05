package handle

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"sort"

	"ptools/internal/procfs"
)

// An Era tells code from other code that was mapped at the same addresses before it or after it: a library may be
// unloaded and another one loaded there. Code at addresses where there was never other code is of era 0.
type Era uint32

// noEra is the era of an address in no code that is known. What is known of it later holds.
const noEra = ^Era(0)

// former is what a mapState knows of code that was mapped earlier.
type former struct {
	past   []*mapState // each has one region, of code that is gone
	eras   Era         // the last one
	forgot bool        // past does not have all
}

// mostPast is how much code that is gone is remembered.
const mostPast = 1024

// A Then is what a Space knows of its map at one moment.
type Then struct {
	space *Space
	state *mapState
}

// Now returns what is known of the present map.
func (s *Space) Now() Then { return Then{s, s.now.Load()} }

// EraOf returns the era of the code at an address.
func (t Then) EraOf(addr uint64) Era {
	r := t.state.find(addr)
	if r == nil {
		return noEra
	}
	return r.era
}

// Then returns what is known of the code that was at an address in an era.
func (s *Space) Then(addr uint64, era Era) Then {
	state := s.now.Load()
	if r := state.find(addr); state.eras == 0 && len(state.past) == 0 || era == noEra || r != nil && r.era == era {
		return Then{s, state}
	}
	for _, p := range state.past {
		if p.regions[0].era == era && p.find(addr) != nil {
			return Then{s, p}
		}
	}
	return Then{s, new(mapState)}
}

// Knows reports whether an address is in memory that was mapped. It opens nothing.
func (t Then) Knows(addr uint64) bool { return t.state.find(addr) != nil }

// Has reports whether a mapping of code is known. Its path does not matter.
func (t Then) Has(m *procfs.Map) bool {
	if r := t.state.find(m.Start); r != nil && m.Inode == 0 && r.Inode == 0 { // such as the vDSO, which has its identity by its path
		named := *m
		named.Path = r.Path
		m = &named
	}
	return t.state.has(m)
}

// overlapping returns the regions that have addresses from start to end.
func (s *mapState) overlapping(start, end uint64) []region {
	from, _ := sort.Find(len(s.regions), func(i int) int {
		if s.regions[i].End <= start {
			return 1
		}
		return -1
	})
	to := from
	for to < len(s.regions) && s.regions[to].Start < end {
		to++
	}
	return s.regions[from:to]
}

// isCode reports whether a region is executable.
func (r *region) isCode() bool { return r.Perm&procfs.Exec != 0 }

// alike reports whether two mappings have the same code where they overlap. Of code in no file nothing else is known
// than where it is.
func alike(a, b *procfs.Map) bool {
	id := fileIDOf(a)
	return id == fileIDOf(b) && (id == (fileID{}) || a.Start-a.Off == b.Start-b.Off)
}

// has reports whether a mapping of code is known.
func (s *mapState) has(m *procfs.Map) bool {
	at, list := m.Start, s.overlapping(m.Start, m.End)
	for i := range list {
		if r := &list[i]; r.Start > at || !r.isCode() || !alike(&r.Map, m) {
			return false
		}
		at = list[i].End
	}
	return at >= m.End
}

// with returns the map with one more mapping, of code, in place of what was there.
func (s *mapState) with(m procfs.Map) *mapState {
	n := &mapState{objects: s.objects, auxv: s.auxv, images: s.images}
	n.regions = make([]region, 0, len(s.regions)+2)
	o, put := n.objectOf(m), false
	for i := range s.regions {
		r := &s.regions[i]
		n.addPart(r, r.Start, max(min(r.End, m.Start), r.Start))
		if !put && r.End > m.Start {
			if put = true; o == nil && r.Start < m.End {
				o = r.object // memory that may have its text
			}
			n.add(m, o)
		}
		n.addPart(r, min(max(r.Start, m.End), r.End), r.End)
	}
	if !put {
		n.add(m, o)
	}
	return n
}

// add adds a region behind all others.
func (s *mapState) add(m procfs.Map, o *object) *region {
	s.regions = s.regions[:len(s.regions)+1]
	r := &s.regions[len(s.regions)-1]
	r.Map, r.object = m, o
	return r
}

// addPart adds the part of a region from start to end.
func (s *mapState) addPart(r *region, start, end uint64) {
	if start >= end {
		return
	}
	m := r.Map
	m.Off += start - m.Start
	m.Start, m.End = start, end
	if n := s.add(m, r.object); m == r.Map {
		n.code.Store(r.code.Load())
	}
}

// objectOf adds the object of a mapping; nil for one of no file.
func (s *mapState) objectOf(m procfs.Map) *object {
	id := fileIDOf(&m)
	if id == (fileID{}) {
		return nil
	}
	im := s.images[id]
	if im == nil {
		im = new(image)
		s.images = maps.Clone(s.images)
		if s.images == nil {
			s.images = make(map[fileID]*image)
		}
		s.images[id] = im
	}
	o := &object{id: id, path: m.Path, name: path.Base(m.Path), start: m.Start, end: m.End, image: im, maps: []procfs.Map{m}}
	s.objects = append(slices.Clip(s.objects), o)
	slices.SortFunc(s.objects, func(a, b *object) int { return cmp.Compare(a.start, b.start) })
	return o
}

// inherit gives all code its era, and remembers what is gone of the code of the state before.
func (s *mapState) inherit(old *mapState) {
	s.former = old.former
	for i := range s.regions {
		if r := &s.regions[i]; r.isCode() {
			r.era = s.eraOf(r, old)
		}
	}
	past := slices.Clone(s.past)
	for i := range old.regions {
		if r := &old.regions[i]; r.isCode() && !s.still(r) && !known(past, r) {
			gone := &mapState{regions: make([]region, 1)}
			gone.regions[0].Map, gone.regions[0].object, gone.regions[0].era = r.Map, r.object, r.era
			past = append(past, gone)
		}
	}
	if n := len(past) - mostPast; n > 0 {
		past, s.forgot = past[n:], true
	}
	s.past = past
}

// eraOf returns the era of a region of code, given the state before. It is a new one if there was other code.
func (s *mapState) eraOf(r *region, old *mapState) Era {
	var same *region
	other := false
	look := func(list []region) {
		for i := range list {
			switch was := &list[i]; {
			case !was.isCode():
			case !alike(&was.Map, &r.Map) || same != nil && same.era != was.era:
				other = true
			default:
				same = was
			}
		}
	}
	look(old.overlapping(r.Start, r.End))
	if same != nil && same.Map == r.Map && !other { // most often
		return same.era
	}
	other = other || s.forgot
	for _, p := range s.past {
		look(p.overlapping(r.Start, r.End))
	}
	switch {
	case same != nil && (!other || s.alone(r, same.era, old)):
		return same.era
	case !other:
		return 0
	}
	s.eras++
	return s.eras
}

// alone reports whether no other code than that of r is known of an era at the addresses of r.
func (s *mapState) alone(r *region, era Era, old *mapState) bool {
	other := func(list []region) bool {
		for i := range list {
			if was := &list[i]; was.isCode() && was.era == era && !alike(&was.Map, &r.Map) {
				return true
			}
		}
		return false
	}
	return !s.forgot && !other(old.overlapping(r.Start, r.End)) &&
		!slices.ContainsFunc(s.past, func(p *mapState) bool { return other(p.overlapping(r.Start, r.End)) })
}

// still reports whether all of a region of the state before is there, and of the same era.
func (s *mapState) still(r *region) bool {
	if !s.has(&r.Map) {
		return false
	}
	list := s.overlapping(r.Start, r.End)
	for i := range list {
		if list[i].era != r.era {
			return false
		}
	}
	return true
}

// known reports whether a region is remembered.
func known(past []*mapState, r *region) bool {
	return slices.ContainsFunc(past, func(p *mapState) bool {
		g := &p.regions[0]
		return g.era == r.era && g.Start <= r.Start && g.End >= r.End && alike(&g.Map, &r.Map)
	})
}
