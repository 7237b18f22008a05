package elfsym

import (
	"cmp"
	"container/heap"
	"slices"
)

// A cover divides the addresses into segments and has the owning claim of each. It
// takes 12 bytes a segment, and one binary search finds a segment.
type cover struct {
	starts []uint64 // strictly increasing
	owners []uint32 // unowned for a gap
}

const unowned = ^uint32(0)

// emit gives everything from addr on to owner. addr must not be below the
// last segment's start.
func (c *cover) emit(addr uint64, owner uint32) {
	n := len(c.starts)
	switch {
	case n > 0 && c.starts[n-1] == addr:
		c.owners[n-1] = owner
	case n > 0 && c.owners[n-1] == owner, n == 0 && owner == unowned:
	default:
		c.starts = append(c.starts, addr)
		c.owners = append(c.owners, owner)
	}
}

// find returns the segment that holds addr, and false if it has no owner.
func (c *cover) find(addr uint64) (int, bool) {
	lo, hi := 0, len(c.starts)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if c.starts[m] <= addr {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo - 1, lo > 0 && c.owners[lo-1] != unowned
}

// owner returns the owner of addr.
func (c *cover) owner(addr uint64) (uint32, bool) {
	i, ok := c.find(addr)
	if !ok {
		return unowned, false
	}
	return c.owners[i], true
}

func (c *cover) clip() {
	c.starts, c.owners = slices.Clip(c.starts), slices.Clip(c.owners)
}

// overlay returns c, with the owners of d where d has any.
func (c *cover) overlay(d *cover) cover {
	if len(c.starts) == 0 {
		return *d
	}
	out := cover{
		starts: make([]uint64, 0, len(c.starts)+len(d.starts)),
		owners: make([]uint32, 0, len(c.starts)+len(d.starts)),
	}
	i, j := 0, 0
	for i < len(c.starts) || j < len(d.starts) {
		at := ^uint64(0)
		if i < len(c.starts) {
			at = c.starts[i]
		}
		if j < len(d.starts) {
			at = min(at, d.starts[j])
		}
		for i < len(c.starts) && c.starts[i] == at {
			i++
		}
		for j < len(d.starts) && d.starts[j] == at {
			j++
		}
		owner := uint32(unowned)
		if i > 0 {
			owner = c.owners[i-1]
		}
		if j > 0 && d.owners[j-1] != unowned {
			owner = d.owners[j-1]
		}
		out.emit(at, owner)
	}
	return out
}

// A claim is a range of addresses and its number.
type claim struct {
	start, end uint64
	owner      uint32
}

// settle returns the cover in which, of all claims to an address, the one
// with the highest owner wins. It reorders claims.
func settle(claims []claim) cover {
	claims = slices.DeleteFunc(claims, func(c claim) bool { return c.start >= c.end })
	slices.SortFunc(claims, func(a, b claim) int { return cmp.Compare(a.start, b.start) })
	var c cover
	var open claimHeap
	next := 0
	for next < len(claims) || len(open) > 0 {
		// The next address at which something begins or the winner ends.
		at := ^uint64(0)
		if next < len(claims) {
			at = claims[next].start
		}
		if len(open) > 0 {
			at = min(at, open[0].end)
		}
		for next < len(claims) && claims[next].start == at {
			heap.Push(&open, claims[next])
			next++
		}
		for len(open) > 0 && open[0].end <= at {
			heap.Pop(&open)
		}
		owner := uint32(unowned)
		if len(open) > 0 {
			owner = open[0].owner
		}
		c.emit(at, owner)
	}
	return c
}

// claimHeap has the highest owner on top.
type claimHeap []claim

func (h claimHeap) Len() int           { return len(h) }
func (h claimHeap) Less(i, j int) bool { return h[i].owner > h[j].owner }
func (h claimHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *claimHeap) Push(c any)        { *h = append(*h, c.(claim)) }

func (h *claimHeap) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}
