package profile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Only says which stacks of a profile count.
type Only struct {
	Include *regexp.Regexp // those with a function whose name matches; nil: all
	Exclude *regexp.Regexp // not those with such a function; nil: none
}

// Keep leaves in a profile what counts. Its header says how much that is. It belongs to the goroutine that has the
// profile, which must not be sampled into any more.
func Keep(p *Profile, only Only) {
	before := p.Total()
	for _, s := range p.finish() {
		has := having(s, only.Include)
		hasNot := having(s, only.Exclude)
		counts := func(c *cell) bool {
			return (only.Include == nil || has[c.stack]) && (only.Exclude == nil || !hasNot[c.stack])
		}
		s.spans = slices.DeleteFunc(s.spans, func(sp span) bool { return !counts(&s.cells[sp.cell]) })
		for i := range s.cells {
			if c := &s.cells[i]; !counts(c) {
				c.Values = Values{}
			}
		}
	}
	var which []string
	if only.Include != nil {
		which = append(which, fmt.Sprintf("with %s", only.Include))
	}
	if only.Exclude != nil {
		which = append(which, fmt.Sprintf("without %s", only.Exclude))
	}
	after := p.Total()
	p.kept = Clean(strings.Join(which, " and ")) + ": " + keptShares(p.Subject, before, after)
}

// keptShares says how much of the values was kept.
func keptShares(subject Subject, before, after Values) string {
	if subject == ThreadCreate {
		return fmt.Sprintf("%.1f %% of the threads created", percent(after.Samples, before.Samples))
	}
	return fmt.Sprintf("%.1f %% of the processor time, %.1f %% of the wall time", percent(after.CPU, before.CPU), percent(after.Wall, before.Wall))
}

// having reports for each stack of a resolved space whether it has a function whose name matches.
func having(s *Space, name *regexp.Regexp) []bool {
	stacks := make([]bool, len(s.nodes))
	if name == nil {
		return stacks
	}
	known := make(map[uint32]bool)
	matches := func(fn uint32) bool {
		m, ok := known[fn]
		if !ok {
			m = name.MatchString(s.profile.functions[fn].name)
			known[fn] = m
		}
		return m
	}
	for id := 1; id < len(s.nodes); id++ { // a caller is older than its callees
		n := s.nodes[id]
		stacks[id] = stacks[n.caller] || slices.ContainsFunc(s.locs[n.loc].lines, func(l line) bool { return matches(l.fn) })
	}
	return stacks
}
