package pctl

import (
	"cmp"
	"slices"
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
// matched, a line one for each piece of its code. That of a function whose object has gone stays, with its hits. Any goroutine may call, also a Handler.
func (b *Breakpoint) Places() []Place {
	var all []Place
	for _, p := range b.b.Places() {
		all = append(all, Place(p))
	}
	slices.SortStableFunc(all, func(x, y Place) int { return cmp.Or(cmp.Compare(y.Hits, x.Hits), cmp.Compare(x.Symbol, y.Symbol)) })
	return all
}
