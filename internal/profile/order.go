package profile

import (
	"cmp"
	"slices"
)

// finish resolves everything and returns the spaces in the order of output:
// by pid, the images of one process in the order in which it ran them.
func (p *Profile) finish() []*Space {
	for _, s := range p.spaces {
		s.ResolveAll()
	}
	spaces := slices.Clone(p.spaces)
	slices.SortStableFunc(spaces, func(a, b *Space) int { return cmp.Compare(a.pid, b.pid) })
	return spaces
}

// ordered returns the cells of a resolved space that count anything. They are
// ordered by stack, callers before callees and siblings by address, then by
// thread.
func (s *Space) ordered() []*cell {
	rank := s.rankStacks()
	cells := make([]*cell, 0, len(s.cells))
	for i := range s.cells {
		if s.cells[i].Values != (Values{}) {
			cells = append(cells, &s.cells[i])
		}
	}
	threads := s.profile.threads
	slices.SortFunc(cells, func(a, b *cell) int {
		return cmp.Or(
			cmp.Compare(rank[a.stack], rank[b.stack]),
			compareThreads(threads[a.thread], threads[b.thread]),
			s.profile.compareWaits(a.wait, b.wait),
		)
	})
	return cells
}

func compareThreads(a, b thread) int {
	return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.process, b.process), cmp.Compare(a.tid, b.tid), cmp.Compare(a.set, b.set))
}

// rankStacks numbers the nodes in depth-first order, so that the number does
// not depend on the order in which stacks were first seen.
func (s *Space) rankStacks() []uint32 {
	// Sorting node numbers by (caller, location) puts siblings together.
	byCaller := make([]StackID, 0, len(s.nodes)-1)
	for id := 1; id < len(s.nodes); id++ {
		byCaller = append(byCaller, StackID(id))
	}
	slices.SortFunc(byCaller, func(a, b StackID) int {
		x, y := s.nodes[a], s.nodes[b]
		return cmp.Or(cmp.Compare(x.caller, y.caller), s.compareLocations(x.loc, y.loc))
	})
	first := make([]int, len(s.nodes)+1) // where the callees of a node begin
	for _, id := range byCaller {
		first[s.nodes[id].caller+1]++
	}
	for i := 1; i < len(first); i++ {
		first[i] += first[i-1]
	}
	rank := make([]uint32, len(s.nodes))
	todo := []StackID{0}
	for n := uint32(0); len(todo) > 0; n++ {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		rank[id] = n
		for i := first[id+1] - 1; i >= first[id]; i-- {
			todo = append(todo, byCaller[i])
		}
	}
	return rank
}

func (s *Space) compareLocations(i, j uint32) int {
	a, b := &s.locs[i], &s.locs[j]
	if a.addr.Kind == note && b.addr.Kind == note {
		return cmp.Compare(s.profile.notes[a.addr.PC], s.profile.notes[b.addr.PC])
	}
	return cmp.Or(
		cmp.Compare(a.addr.Kind, b.addr.Kind),
		cmp.Compare(a.addr.PC, b.addr.PC),
		cmp.Compare(a.addr.Era, b.addr.Era),
		cmp.Compare(i, j), // the same address in an archive, in several files
	)
}

// path appends the locations of a stack to dst, innermost first.
func (s *callTree) path(stack StackID, dst []*location) []*location {
	for ; stack != 0; stack = s.nodes[stack].caller {
		dst = append(dst, &s.locs[s.nodes[stack].loc])
	}
	return dst
}
