package profile

import "slices"

// A Mark has the counts of a profile's cells at one moment. Any number of marks can be set. What was counted
// since a mark can be made a profile of its own (AddTo).
type Mark struct {
	p      *Profile
	before map[*Space][]Values // of the cells
}

// Mark sets a mark. Release must be called.
func (p *Profile) Mark() *Mark {
	m := &Mark{p: p, before: make(map[*Space][]Values, len(p.spaces))}
	for _, s := range p.spaces {
		values := make([]Values, len(s.cells))
		for i := range s.cells {
			values[i] = s.cells[i].Values
		}
		m.before[s] = values
	}
	p.marks = append(p.marks, m)
	return m
}

// Release frees what the mark holds.
func (m *Mark) Release() {
	if i := slices.Index(m.p.marks, m); i >= 0 {
		m.p.marks = slices.Delete(m.p.marks, i, i+1)
	}
}

// moved says that the cells of a space have moved to another one, where they have other numbers.
func (m *Mark) moved(from, to *Space, cells []Cell) {
	before := m.before[to]
	for len(before) < len(to.cells) {
		before = append(before, Values{})
	}
	for i, v := range m.before[from] {
		before[cells[i]].add(v)
	}
	m.before[to] = before
	delete(m.before, from)
}

// AddTo adds what has been counted since the mark to another profile. Addresses that are resolved here are resolved
// there. The others are resolved later by the same resolvers. The other profile may belong to another goroutine.
func (m *Mark) AddTo(dst *Profile) {
	for _, s := range m.p.spaces {
		s.addSince(m.before[s], dst)
	}
}

// addSince adds the cells of the space that have changed.
func (s *Space) addSince(before []Values, dst *Profile) {
	var changed []cell
	used := make([]bool, len(s.nodes))
	for i := range s.cells {
		c := s.cells[i]
		if i < len(before) {
			c.sub(before[i])
		}
		if c.Values == (Values{}) {
			continue
		}
		changed = append(changed, c)
		for id := c.stack; id != 0 && !used[id]; id = s.nodes[id].caller {
			used[id] = true
		}
	}
	if len(changed) == 0 {
		return
	}
	d := dst.Space(s.pid, s.main, s.resolver)
	locs := s.copyLocations(d, used)
	stacks := make([]StackID, len(s.nodes))
	for id := 1; id < len(s.nodes); id++ { // a caller's number is smaller than its callees'
		if used[id] {
			stacks[id] = d.child(stacks[s.nodes[id].caller], locs[s.nodes[id].loc])
		}
	}
	for _, c := range changed {
		t := s.profile.threads[c.thread]
		d.Add(d.Cell(dst.threadOf(t.threadKey, t.name), stacks[c.stack]), c.Values)
	}
}

// copyLocations adds the locations of the used nodes to another space, and returns their numbers there. Resolved
// locations come first.
func (s *Space) copyLocations(d *Space, used []bool) []uint32 {
	wanted := make([]bool, len(s.locs))
	for id, is := range used {
		if is {
			wanted[s.nodes[id].loc] = true
		}
	}
	numbers := make([]uint32, len(s.locs))
	for i, is := range wanted {
		if i == s.pending {
			d.pending = len(d.locs)
		}
		if is {
			numbers[i] = d.copyLocation(s, &s.locs[i], i < s.pending)
		}
	}
	if s.pending >= len(s.locs) {
		d.pending = len(d.locs)
	}
	return numbers
}

// copyLocation adds a location of another space.
func (s *Space) copyLocation(from *Space, l *location, resolved bool) uint32 {
	c := location{addr: l.addr, mapping: -1}
	if l.addr.Kind == note {
		c.addr = s.profile.Note(from.profile.notes[l.addr.PC])
	}
	if resolved {
		if l.mapping >= 0 {
			c.mapping = s.mapping(from.mappings[l.mapping])
		}
		for _, n := range l.lines {
			n.fn = s.profile.function(from.profile.functions[n.fn])
			c.lines = append(c.lines, n)
		}
	}
	id := uint32(len(s.locs))
	s.locs = append(s.locs, c)
	s.locIDs[c.addr] = id
	return id
}

// Unresolved is the addresses of a profile that are not resolved.
type Unresolved struct {
	p *Profile
	// Prepare has a function for each address, in the order in which Resolve resolves them. It lets a resolver
	// that can do so read what it needs for the address. It may be called by another goroutine than the
	// profile's.
	Prepare []func()
}

// Unresolved returns the addresses that are not resolved.
func (p *Profile) Unresolved() *Unresolved {
	var list []func()
	for _, s := range p.spaces {
		r, ok := s.resolver.(interface{ Prepare(Addr) })
		for _, l := range s.locs[s.pending:] {
			if ok && l.addr.Kind != note {
				list = append(list, func() { r.Prepare(l.addr) })
			} else {
				list = append(list, func() {})
			}
		}
	}
	return &Unresolved{p, list}
}

// Resolve resolves at most n addresses. The others never get names.
func (u *Unresolved) Resolve(n int) {
	for _, s := range u.p.spaces {
		some := min(n, len(s.locs)-s.pending)
		n -= some
		s.Resolve(some)
		for ; s.pending < len(s.locs); s.pending++ {
			if l := &s.locs[s.pending]; l.addr.Kind == note {
				s.resolve(l) // it says itself what it is
			}
		}
	}
}

// Size returns the size of the profile: the number of levels of distinct stacks and of cells.
func (p *Profile) Size() (n int) {
	for _, s := range p.spaces {
		n += len(s.nodes) + len(s.cells)
	}
	return n
}

func (v *Values) sub(w Values) {
	v.Samples -= w.Samples
	v.CPU -= w.CPU
	v.Wall -= w.Wall
	v.Ready -= w.Ready
	v.Goroutines -= w.Goroutines
	v.Sum -= w.Sum
}
