package pctl

import (
	"cmp"
	"slices"
	"sync"
	"weak"

	"ptools/internal/calls"
	"ptools/internal/elfsym"
	"ptools/pctl/control"
)

// Place is where a breakpoint is, or was: an instruction of a function.
type Place struct {
	Symbol string   // the function, demangled; empty if the breakpoint was set by address
	Object string   // the path of its file
	Offset uint64   // bytes into the function that were asked for
	Addrs  []uint64 // present addresses; none if the object is not there any more, several if it is mapped several times
	Hits   uint64
}

// Places returns the places of the breakpoint, with the hits of each, the most hits first. A pattern has one for each function that it has
// matched. That of a function whose object has gone stays, with its hits. Any goroutine may call, also a Handler.
func (b *Breakpoint) Places() []Place {
	var all []Place
	for _, p := range b.b.Places() {
		all = append(all, Place(p))
	}
	slices.SortStableFunc(all, func(x, y Place) int { return cmp.Or(cmp.Compare(y.Hits, x.Hits), cmp.Compare(x.Symbol, y.Symbol)) })
	return all
}

// finder looks for the functions of a pattern, in each file once. Any goroutine may use it.
type finder struct {
	pattern calls.Pattern
	off     uint64
	mu      sync.Mutex
	known   map[weak.Pointer[elfsym.File]][]control.Found
}

// mostKnown bounds the files whose functions are remembered.
const mostKnown = 1024

// newFinder returns what a breakpoint by pattern looks for, nil if where is none.
func newFinder(where Where) (*finder, error) {
	if !where.IsPattern() {
		return nil, nil
	}
	p, err := calls.NamePattern(where.Symbol)
	return &finder{pattern: p, off: where.Offset}, err
}

// find returns the functions of a file.
func (f *finder) find(file *elfsym.File) []control.Found {
	key := weak.Make(file)
	f.mu.Lock()
	defer f.mu.Unlock()
	found, ok := f.known[key]
	if ok {
		return found
	}
	for _, sym := range f.pattern.Functions(file) {
		found = append(found, control.Found{Sym: sym, Off: f.off})
	}
	if f.known == nil || len(f.known) >= mostKnown {
		f.known = map[weak.Pointer[elfsym.File]][]control.Found{}
	}
	f.known[key] = found
	return found
}
