package bkpt

import (
	"cmp"
	"slices"
)

// index finds breakpoints by address.
type index struct {
	byAddr map[uint64]*Breakpoint
	sorted []*Breakpoint // ascending
}

// At returns the breakpoint at addr, or nil.
func (x *index) At(addr uint64) *Breakpoint { return x.byAddr[addr] }

// Len returns the number of breakpoints.
func (x *index) Len() int { return len(x.sorted) }

// find returns the index of addr in x.sorted, or where it would be.
func (x *index) find(addr uint64) (int, bool) {
	return slices.BinarySearchFunc(x.sorted, addr, func(b *Breakpoint, a uint64) int {
		return cmp.Compare(b.Addr, a)
	})
}

func (x *index) insert(b *Breakpoint) {
	i, _ := x.find(b.Addr)
	x.sorted = slices.Insert(x.sorted, i, b)
	x.byAddr[b.Addr] = b
}

func (x *index) remove(b *Breakpoint) {
	delete(x.byAddr, b.Addr)
	if i, ok := x.find(b.Addr); ok {
		x.sorted = slices.Delete(x.sorted, i, i+1)
	}
}

// within returns the breakpoints in [addr, end).
func (x *index) within(addr, end uint64) []*Breakpoint {
	i, _ := x.find(addr)
	j := i
	for j < len(x.sorted) && x.sorted[j].Addr < end {
		j++
	}
	return x.sorted[i:j]
}

// appendOf appends the living breakpoints of one kind that are armed, or not.
func (x *index) appendOf(bs []*Breakpoint, k Kind, armed bool) []*Breakpoint {
	for _, b := range x.sorted {
		if b.trap == k && b.armed == armed && !b.dead {
			bs = append(bs, b)
		}
	}
	return bs
}

// Of returns the living breakpoints of one kind, in ascending order.
func (x *index) Of(k Kind) (bs []*Breakpoint) {
	for _, b := range x.sorted {
		if b.trap == k && !b.dead {
			bs = append(bs, b)
		}
	}
	return bs
}
