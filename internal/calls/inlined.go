package calls

import (
	"cmp"
	"slices"
	"strings"

	"ptools/internal/elfsym"
)

// Inlined returns the functions that a target was inlined into.
func (p *Process) Inlined(t *Target) []string {
	return slices.DeleteFunc(t.file.InlinedIn(t.Raw), func(in string) bool { return in == t.Name }) // a part of it, into itself
}

// OnlyInlined returns the functions that those which the pattern names were inlined into. It is about names without * and ?.
func (p *Process) OnlyInlined(pattern *Pattern) (in []string) {
	if !pattern.plainName() {
		return nil
	}
	p.search(pattern, func(f *elfsym.File) {
		for _, name := range f.InlinedIn(pattern.function) {
			if !slices.Contains(in, name) {
				in = append(in, name)
			}
		}
	})
	return in
}

// search looks into the objects that a pattern means.
func (p *Process) search(pattern *Pattern, into func(*elfsym.File)) {
	for _, o := range p.space.Objects() {
		if o.File != nil && pattern.In(p.space.Names(&o)) {
			into(o.File)
		}
	}
	for _, n := range p.named {
		if n.path == pattern.object {
			into(n.file)
		}
	}
}

// A Copy is a function that was inlined into another one, and perhaps into more.
type Copy struct{ Name, In string }

// InlinedCopies returns the functions whose names match a pattern with * or ? and that were inlined somewhere, by name. They may have code of their own,
// too. What is all, as *, is not looked for.
func (p *Process) InlinedCopies(pattern *Pattern) (copies []Copy) {
	if pattern.plainName() || pattern.line != nil || strings.Trim(pattern.function, "*?") == "" {
		return nil
	}
	p.search(pattern, func(f *elfsym.File) {
		found := elfsym.Inlined(f, func(raw string) bool {
			names := NamesOf(raw)
			return pattern.Matches(&names)
		})
		for raw, in := range found {
			copies = append(copies, Copy{elfsym.Demangled(raw), in})
		}
	})
	slices.SortFunc(copies, func(a, b Copy) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.In, b.In)) })
	return slices.CompactFunc(copies, func(a, b Copy) bool { return a.Name == b.Name })
}
