package main

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"ptools/internal/calls"
	"ptools/internal/clean"
)

// A row is a function that was called, or its calls with the same key.
type row struct {
	target       *calls.Target
	stats        calls.Stats
	*calls.Group          // nil: calls are not told apart
	total        *big.Int // the sum; nil: nothing is summed
	coverage     calls.Coverage
	watch        *calls.Watch // of one of its processes
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

// keyName is the head of the column of keys, empty if there is none.
func (c *config) keyName() string {
	switch {
	case c.perProcess:
		return "process"
	case c.by == nil || c.by.Stack():
		return ""
	}
	return c.by.Text
}

// functionsOf returns the functions that rows are of.
func functionsOf(rows []row) map[[2]string]bool {
	all := map[[2]string]bool{}
	for i := range rows {
		all[[2]string{rows[i].target.Raw, rows[i].target.Object}] = true
	}
	return all
}

// summed returns how many calls would be in the sum if the number of all was known.
func (c *config) summed(r *row) uint64 {
	if c.sum.AtReturn() || c.by.AtReturn() {
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
	series calls.TreeSeries    // with --top
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

// read returns the functions that were called, or their keys: those that have taken most time first, or that have the largest sums. Of several processes
// functions of the same name and object are one, unless processes are told apart, or stacks.
func (t *table) read() []row {
	var rows []row
	for _, p := range t.s.parts {
		rows = append(rows, t.readPart(p)...)
	}
	if len(t.s.parts) > 1 && !t.s.perProcess && !t.s.by.Stack() {
		rows = mergeRows(rows)
	}
	return t.ordered(rows)
}

// readPart returns the rows of one process.
func (t *table) readPart(p *part) (rows []row) {
	watch := p.watch
	add := func(target *calls.Target, stats *calls.Stats, group *calls.Group) {
		if stats.Calls > 0 {
			rows = append(rows, row{target: target, stats: *stats, Group: group, coverage: watch.Coverage(target), watch: watch})
		}
	}
	switch {
	case t.s.tree.on():
		t.nodes = watch.Tree()
		for target, stats := range calls.WholeTree(t.nodes) {
			rows = append(rows, row{target: target, stats: *stats, coverage: watch.Coverage(target), watch: watch})
		}
	case t.s.by != nil && t.s.save.implied:
		t.groups = watch.Groups()
		for target, stats := range calls.Whole(t.groups) {
			add(target, stats, nil)
		}
	case t.s.by != nil:
		t.groups = watch.Groups()
		for i := range t.groups {
			add(t.groups[i].Target, &t.groups[i].Stats, &t.groups[i])
		}
	default:
		var group *calls.Group
		if t.s.perProcess {
			group = &calls.Group{Key: p.name}
		}
		var stats calls.Stats
		for i := range watch.Targets {
			if watch.Read(i, &stats) {
				add(&watch.Targets[i], &stats, group)
			}
		}
	}
	return rows
}

// mergeRows joins the rows of functions that are the same in several processes.
func mergeRows(rows []row) (all []row) {
	type id struct{ raw, object, key string }
	at := map[id]int{}
	for _, r := range rows {
		k := id{r.target.Raw, r.target.Object, r.key()}
		i, ok := at[k]
		if !ok {
			at[k] = len(all)
			all = append(all, r)
			continue
		}
		sum := &all[i]
		sum.coverage.Timed = together(sum.stats.Returned, r.stats.Returned, sum.coverage.Timed, r.coverage.Timed)
		sum.coverage.Counted = together(sum.stats.Calls, r.stats.Calls, sum.coverage.Counted, r.coverage.Counted)
		sum.coverage.Level = max(sum.coverage.Level, r.coverage.Level)
		sum.coverage.Partly = sum.coverage.Partly || r.coverage.Partly
		calls.Merge(&sum.stats, &r.stats)
	}
	return all
}

// together returns in which time two numbers of calls are as many a second as both together.
func together(a, b uint64, timeA, timeB time.Duration) time.Duration {
	if a == 0 || b == 0 || timeA <= 0 || timeB <= 0 {
		return max(timeA, timeB)
	}
	return time.Duration(float64(a+b) / (float64(a)/float64(timeA) + float64(b)/float64(timeB)))
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

// endedByJump says which functions' calls ended by jumps to other functions, in whose work their times have no share.
func endedByJump(rows []row) string {
	var tails uint64
	var names []string
	named := map[string]bool{}
	for i := range rows {
		if r := &rows[i]; r.stats.Tails > 0 {
			tails += r.stats.Tails
			if name := clean.Text(r.target.Name); !named[name] {
				named[name] = true
				names = append(names, name)
			}
		}
	}
	if tails == 0 {
		return ""
	}
	return fmt.Sprintf("%s by a jump to another function (a tail call); their times end there: %s", counted(tails, "call ended", "calls ended"), calls.FirstOf(names))
}

// overhead says what times include that is much for a short function: a single step, or the stop at a breakpoint.
func (t *trapping) overhead(rows []row) string {
	if t.cost > 0 {
		return fmt.Sprintf("; times include the stops at breakpoints, some %s for each call", duration(t.cost))
	}
	all := map[*calls.Target]bool{}
	for i := range rows {
		if rows[i].timed() && !rows[i].target.Plan.Entry.Emulated {
			all[rows[i].target] = true
		}
	}
	switch n := len(all); n {
	case 0:
		return ""
	case 1:
		return "; 1 of them begins with an instruction that the kernel has to step, which its times include"
	}
	return fmt.Sprintf("; %d of them begin with instructions that the kernel has to step, which their times include", len(all))
}
