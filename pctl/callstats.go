package pctl

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"ptools/internal/calls"
)

// CallStats are the calls of a function so far; with CallSpec.By, of those with one key.
type CallStats struct {
	*CalledFunction
	CallKey
	Calls    uint64 // that have begun
	Returned uint64 // of those, that have ended
	Tails    uint64 // of those, that have ended by a jump to another function
	Left     uint64 // that will not end, of those that is known of: by an exception, longjmp, a panic or the end of a thread
	Untimed  uint64 // whose ends are not seen, because the kernel's table of open calls was full
	Unseen   uint64 // that were to be a KindCall, and found no room because Next was not called in time
	Total    time.Duration
	Max      time.Duration
	Sum      *big.Int // of CallSpec.Sum; nil: nothing is summed
	Summed   uint64   // calls that Sum is of: the number of the others is not known, or has more than 64 bits
	stats    calls.Stats
}

// CallKey is what tells calls apart. It is zero where nothing does.
type CallKey struct {
	Key   string // the value, as pcalls prints it
	Rest  string // instead of a Key: what calls are without one: "other", "not returned", "no result", "no stack" (doc/pcalls.md)
	Stack []Frame
	Cut   string // why Stack is not whole
}

// CallClass is the calls whose durations are in a class.
type CallClass struct {
	Least time.Duration // of the class, which ends where the next one begins
	Calls uint64
}

// Percentile returns a duration that a share q of the ended calls did not exceed, within an eighth: .99 for the 99th percentile.
func (s *CallStats) Percentile(q float64) time.Duration { return calls.Quantile(&s.stats, q) }

// Histogram returns the classes of durations that have calls, the shortest first. Each power of two of nanoseconds has four classes.
func (s *CallStats) Histogram() []CallClass {
	var classes []CallClass
	for _, c := range calls.Histogram(&s.stats) {
		classes = append(classes, CallClass(c))
	}
	return classes
}

// Since returns what was added since an earlier Stats, of the same function and key.
func (s *CallStats) Since(earlier *CallStats) CallStats {
	d := *s
	d.set(calls.Since(&s.stats, &earlier.stats), s.Sum != nil)
	return d
}

// set sets the numbers.
func (s *CallStats) set(n calls.Stats, summed bool) {
	s.stats = n
	s.Calls, s.Returned, s.Tails, s.Left, s.Untimed, s.Unseen = n.Calls, n.Returned, n.Tails, n.Left, n.Untimed, n.Unseen
	s.Total, s.Max, s.Summed = n.Sum, n.Max, n.Amount.Calls
	if summed {
		s.Sum = n.Amount.Total()
	}
}

// Stats returns what was counted so far, while it is counted or after Close: functions and keys that were called, those first that have taken the most time.
// The numbers of one CallStats are not of exactly the same moment.
func (c *Calls) Stats() []CallStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch == nil {
		return slices.Clone(c.last)
	}
	var list []CallStats
	add := func(t *calls.Target, key CallKey, n calls.Stats) {
		if n.Calls == 0 {
			return
		}
		s := CallStats{CalledFunction: c.of[t], CallKey: key}
		s.set(n, c.spec.Sum != nil)
		list = append(list, s)
	}
	if c.spec.By == nil {
		for i := range c.watch.Targets {
			var n calls.Stats
			if c.watch.Read(i, &n) {
				add(&c.watch.Targets[i], CallKey{}, n)
			}
		}
	} else {
		for _, g := range c.watch.Groups() {
			key := CallKey{Key: g.Key, Rest: string(g.Rest), Cut: g.Cut}
			if g.Stack != nil {
				key.Stack = framesOf(c.watch.Frames(g.Stack))
			}
			add(g.Target, key, g.Stats)
		}
	}
	slices.SortStableFunc(list, func(a, b CallStats) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
	})
	return list
}
