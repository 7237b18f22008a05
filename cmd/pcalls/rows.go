package main

import (
	"cmp"
	"math/big"
	"slices"

	"ptools/internal/calls"
)

// A row is a function that was called, or its calls with the same key.
type row struct {
	target       *calls.Target
	stats        calls.Stats
	*calls.Group          // nil: calls are not told apart
	total        *big.Int // the sum; nil: nothing is summed
	coverage     calls.Coverage
}

// timed reports whether ends of the function's calls were seen.
func (r *row) timed() bool {
	return r.target.Plan.Whole == nil && (r.coverage.Level == calls.Timed || r.coverage.Timed > 0)
}

// open returns how many calls have not ended, or have ended without a return.
func (r *row) open() uint64 { return r.stats.Calls - min(r.stats.Returned, r.stats.Calls) }

// key returns the text of the key.
func (r *row) key() string {
	switch {
	case r.Group == nil:
		return ""
	case r.Rest != calls.None:
		return "(" + string(r.Rest) + ")"
	}
	return r.Key
}

// summed returns how many calls would be in the sum if the number of all was known.
func (s *session) summed(r *row) uint64 {
	if s.sum.AtReturn() || s.by.AtReturn() {
		return r.stats.Returned
	}
	return r.stats.Calls
}

// A table reads the statistics of all functions.
type table struct {
	s      *session
	last   map[rowID]*lastSeen // at the end of the last second
	groups []calls.Group       // what was read last, if calls are told apart
	nodes  []*calls.Node       // the same of a tree
}

// lastSeen is what was seen of a row.
type lastSeen struct {
	stats    calls.Stats
	coverage calls.Coverage
}

// rowID tells rows apart.
type rowID struct {
	target *calls.Target
	key    string
}

func newTable(s *session) *table { return &table{s: s, last: map[rowID]*lastSeen{}} }

// read returns the functions that were called, or their keys: those that have taken most time first, or that have the largest sums.
func (t *table) read() []row {
	var rows []row
	watch := t.s.watch
	if t.s.tree.on() {
		t.nodes = watch.Tree()
		for target, stats := range calls.WholeTree(t.nodes) {
			rows = append(rows, row{target: target, stats: *stats, coverage: watch.Coverage(target)})
		}
		return t.ordered(rows)
	}
	if t.s.by != nil {
		groups := watch.Groups()
		if t.groups = groups; t.s.save.implied {
			for target, stats := range calls.Whole(groups) {
				if stats.Calls > 0 {
					rows = append(rows, row{target: target, stats: *stats, coverage: watch.Coverage(target)})
				}
			}
			return t.ordered(rows)
		}
		for i := range groups {
			if groups[i].Calls > 0 {
				t := groups[i].Target
				rows = append(rows, row{target: t, stats: groups[i].Stats, Group: &groups[i], coverage: watch.Coverage(t)})
			}
		}
		return t.ordered(rows)
	}
	for i := range watch.Targets {
		r := row{target: &watch.Targets[i]}
		if watch.Read(i, &r.stats) && r.stats.Calls > 0 {
			r.coverage = watch.Coverage(r.target)
			rows = append(rows, r)
		}
	}
	return t.ordered(rows)
}

// second returns those that were called, or whose calls have ended, since the last time.
func (t *table) second() []row {
	var rows []row
	for _, r := range t.read() {
		id := rowID{r.target, r.key()}
		now := &lastSeen{r.stats, r.coverage}
		if last := t.last[id]; last != nil {
			r.stats = calls.Since(&now.stats, &last.stats)
			r.coverage.Timed -= last.coverage.Timed
			r.coverage.Counted -= last.coverage.Counted
		}
		if r.Group == nil || r.Rest == calls.None || r.Rest == calls.Others { // calls that are open become fewer
			t.last[id] = now
		}
		if r.stats.Calls > 0 || r.stats.Returned > 0 {
			rows = append(rows, r)
		}
	}
	return t.ordered(rows)
}

func (t *table) ordered(rows []row) []row {
	if t.s.sum != nil {
		for i := range rows {
			rows[i].total = rows[i].stats.Amount.Total()
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		if t.s.sum != nil {
			if order := b.total.Cmp(a.total); order != 0 {
				return order
			}
		}
		return cmp.Or(cmp.Compare(b.stats.Sum, a.stats.Sum), cmp.Compare(b.stats.Calls, a.stats.Calls), cmp.Compare(a.target.Name, b.target.Name),
			cmp.Compare(a.key(), b.key()))
	})
	return rows
}
