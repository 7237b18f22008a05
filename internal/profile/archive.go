package profile

import (
	"slices"

	"ptools/internal/intern"
)

// archive merges the former spaces of a process. It is a space without a
// resolver, whose addresses count from the beginning of the file's mapping. A
// program that executes itself a thousand times a second, each time at other
// addresses, leaves one such space, which soon stops growing.
type archive struct {
	*Space
	ids map[archiveKey]uint32
}

type archiveKey struct {
	addr    Addr
	mapping int32
	fn      uint32 // innermost function, counted from 1; 0 for none
}

// Retire says that the image of the space is gone. Addresses that are not
// resolved are resolved now, for the last time. Then the cells go to the
// archive of the process. The space must not be used any more.
func (s *Space) Retire() {
	s.ResolveAll()
	p := s.profile
	a := p.archive(s)
	locs := make([]uint32, len(s.locs))
	for i := range s.locs {
		locs[i] = a.take(s, &s.locs[i])
	}
	a.pending = len(a.locs)
	// A caller's number is smaller than its callees'.
	stacks := make([]StackID, len(s.nodes))
	for id := 1; id < len(s.nodes); id++ {
		stacks[id] = a.child(stacks[s.nodes[id].caller], locs[s.nodes[id].loc])
	}
	cells := make([]Cell, len(s.cells))
	for i := range s.cells {
		c := &s.cells[i]
		cells[i] = a.Cell(c.thread, stacks[c.stack])
		a.Add(cells[i], c.Values)
	}
	s.moveSpans(&a.counts, cells)
	s.moveBlame(a.Space, stacks)
	for _, m := range p.marks {
		m.moved(s, a.Space, cells)
	}
	s.remove()
}

// archive returns the archive of a space's process. It is before the space in order.
func (p *Profile) archive(s *Space) *archive {
	if a, ok := p.archives[s.pid]; ok {
		return a
	}
	a := &archive{p.Space(s.pid, s.main, nil), make(map[archiveKey]uint32)}
	if p.archives == nil {
		p.archives = make(map[int]*archive)
	}
	p.archives[s.pid] = a
	// The archive is older than the space that is retired.
	last := len(p.spaces) - 1
	copy(p.spaces[1:], p.spaces[:last])
	p.spaces[0] = a.Space
	return a
}

// take returns the number here of a location of another space, with what was resolved there.
func (a *archive) take(s *Space, l *location) uint32 {
	k := archiveKey{addr: l.addr, mapping: -1}
	k.addr.Era = 0 // the address counts from the file's mapping, or means nothing
	switch {
	case l.mapping >= 0:
		m := s.mappings[l.mapping]
		k.addr.PC -= m.Start
		k.mapping = a.mapping(Mapping{Limit: m.Limit - m.Start, Offset: m.Offset, Path: m.Path, BuildID: m.BuildID})
	case l.addr.Kind != note:
		k.addr.PC = 0 // in memory that is gone, so its address means nothing
	}
	if len(l.lines) > 0 {
		k.fn = l.lines[0].fn + 1
	}
	return intern.ID(a.ids, &a.locs, k, location{addr: k.addr, mapping: k.mapping, lines: l.lines})
}

// MoveTo adds what the space has counted to another space, in which the same code is at other addresses.
// translate returns the address there. Nothing is looked up. The space must not be used any more.
func (s *Space) MoveTo(dst *Space, translate func(Addr) Addr) {
	stacks := make([]StackID, len(s.nodes))
	for id := 1; id < len(s.nodes); id++ { // a caller's number is smaller than its callees'
		a := s.locs[s.nodes[id].loc].addr
		if a.Kind != note {
			a = translate(a)
		}
		stacks[id] = dst.Push(stacks[s.nodes[id].caller], a)
	}
	cells := make([]Cell, len(s.cells))
	for i := range s.cells {
		c := &s.cells[i]
		cells[i] = dst.Cell(c.thread, stacks[c.stack])
		dst.Add(cells[i], c.Values)
	}
	s.moveSpans(&dst.counts, cells)
	s.moveBlame(dst, stacks)
	s.remove()
}

// remove takes the space out of its profile.
func (s *Space) remove() {
	p := s.profile
	if i := slices.Index(p.spaces, s); i >= 0 {
		p.spaces = slices.Delete(p.spaces, i, i+1)
	}
}

// Code returns the distinct addresses of the space that are code.
func (s *places) Code() []Addr {
	var addrs []Addr
	for _, l := range s.locs {
		if l.addr.Kind != note {
			addrs = append(addrs, l.addr)
		}
	}
	return addrs
}
