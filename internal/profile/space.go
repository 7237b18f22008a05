package profile

import (
	"cmp"
	"slices"

	"ptools/internal/intern"
)

// Space is the address space of one image of a process: its stacks, its
// counters and the meaning of its program counters.
type Space struct {
	profile  *Profile
	pid      int
	main     string // path of the executable
	resolver Resolver

	callTree
	counts
	blame  blame
	frames []Frame // scratch of Resolve
}

// places are the distinct addresses that were seen, and the code there.
type places struct {
	locs    []location
	locIDs  map[Addr]uint32
	pending int      // locations before this one are resolved
	foreign []uint32 // resolved locations in no code that the resolver knew

	mappings   []Mapping
	mappingIDs map[Mapping]int32
}

// callTree has each stack once.
type callTree struct {
	places
	nodes   []node // 0 is the root, the empty stack
	nodeIDs map[node]StackID
}

// counts are what was counted of stacks.
type counts struct {
	cells   []cell
	cellIDs map[cellKey]Cell

	spans     []span
	lastSpans []int32 // of each cell, -1 for none
}

// StackID names a stack within its space. 0 is the empty stack.
type StackID uint32

// Cell names the counters of one stack of one thread within its space.
type Cell uint32

// node is one level of a stack: the location, and the stack of its callers.
type node struct {
	caller StackID
	loc    uint32
}

type cellKey struct {
	thread ThreadID
	stack  StackID
	wait   WaitID // of a wait for a lock; otherwise 0
}

type cell struct {
	cellKey
	Values
}

// location is a distinct address with the resolver's answer.
type location struct {
	addr    Addr
	mapping int32 // index in mappings, -1 for none
	code    bool  // it is in code that the resolver knows
	lines   []line
}

// line is one function at a location.
type line struct {
	fn      uint32
	line    int32
	inlined bool
}

// Space adds an address space. The path of the executable says which of its
// mappings comes first in formats that give the first one a meaning.
func (p *Profile) Space(pid int, executable string, r Resolver) *Space {
	s := &Space{
		profile:  p,
		pid:      pid,
		main:     executable,
		resolver: r,
		callTree: callTree{
			places:  places{locIDs: make(map[Addr]uint32), mappingIDs: make(map[Mapping]int32)},
			nodes:   make([]node, 1),
			nodeIDs: make(map[node]StackID),
		},
		counts: counts{cellIDs: make(map[cellKey]Cell)},
	}
	p.spaces = append(p.spaces, s)
	return s
}

// Stack returns the stack with these levels, innermost first. It does not
// allocate for a stack that the space has seen.
func (s *callTree) Stack(levels []Addr) StackID {
	var id StackID
	for i := len(levels) - 1; i >= 0; i-- {
		id = s.Push(id, levels[i])
	}
	return id
}

// Push returns the stack in which stack has called a.
func (s *callTree) Push(stack StackID, a Addr) StackID { return s.child(stack, s.location(a)) }

func (s *callTree) child(caller StackID, loc uint32) StackID {
	n := node{caller, loc}
	return intern.ID(s.nodeIDs, &s.nodes, n, n)
}

// Levels appends the levels of a stack to dst, innermost first.
func (s *callTree) Levels(stack StackID, dst []Addr) []Addr {
	for ; stack != 0; stack = s.nodes[stack].caller {
		dst = append(dst, s.locs[s.nodes[stack].loc].addr)
	}
	return dst
}

// Cell returns the counters of a thread in a stack. A caller that counts there
// again should keep it.
func (s *counts) Cell(t ThreadID, stack StackID) Cell {
	k := cellKey{t, stack, 0}
	return intern.ID(s.cellIDs, &s.cells, k, cell{cellKey: k})
}

// Add counts v in a cell.
func (s *counts) Add(c Cell, v Values) { s.cells[c].add(v) }

func (s *places) location(a Addr) uint32 {
	return intern.ID(s.locIDs, &s.locs, a, location{addr: a, mapping: -1})
}

// Resolve asks the resolver about at most max addresses that it has not been
// asked about, and returns how many remain.
func (s *Space) Resolve(max int) int {
	for ; max > 0 && s.pending < len(s.locs); max-- {
		if !s.resolve(&s.locs[s.pending]) {
			s.foreign = append(s.foreign, uint32(s.pending))
		}
		s.pending++
	}
	return len(s.locs) - s.pending
}

// Learned says that the resolver may know more code than before. It asks again about addresses
// for which no code was known: a thread may have been seen in code that was mapped a moment
// earlier.
func (s *Space) Learned() {
	s.foreign = slices.DeleteFunc(s.foreign, func(id uint32) bool { return s.resolve(&s.locs[id]) })
}

// Foreign returns the addresses that Learned will ask about again.
func (s *Space) Foreign() []Addr {
	var addrs []Addr
	for _, id := range s.foreign {
		addrs = append(addrs, s.locs[id].addr)
	}
	return addrs
}

// Resolved returns how many addresses its resolver has been asked about; they are the first of
// the distinct addresses of the space.
func (s *places) Resolved() int { return s.pending }

// Addrs returns the addresses of the space except the first n.
func (s *places) Addrs(n int) []Addr {
	var addrs []Addr
	for _, l := range s.locs[n:] {
		addrs = append(addrs, l.addr)
	}
	return addrs
}

// ResolveAll resolves the remaining addresses.
func (s *Space) ResolveAll() { s.Resolve(len(s.locs)) }

// resolve asks the resolver about a location. It returns false if the resolver knows no code there.
func (s *Space) resolve(l *location) bool {
	if l.addr.Kind == note {
		fn := s.profile.function(function{name: s.profile.notes[l.addr.PC]})
		l.lines = []line{{fn: fn}}
		return true
	}
	frames, m := s.resolver.Resolve(l.addr, s.frames[:0])
	s.frames = frames
	if m != (Mapping{}) {
		l.mapping = s.mapping(m)
	}
	known := false
	l.lines = make([]line, 0, len(frames))
	for _, f := range frames {
		known = known || f.Func != "" || f.Place != ""
		if f.Object == "" {
			f.Object = m.Path
		}
		fn := s.profile.function(function{cmp.Or(f.Func, f.Place), f.File, f.Object, f.Raw, f.Func == ""})
		l.lines = append(l.lines, line{fn, int32(f.Line), f.Inlined})
	}
	if !known {
		l.lines = nil
	}
	l.code = len(frames) > 0 || m != (Mapping{})
	return l.code
}

func (s *places) mapping(m Mapping) int32 {
	m.Path, m.BuildID = Clean(m.Path), Clean(m.BuildID)
	return intern.ID(s.mappingIDs, &s.mappings, m, m)
}
