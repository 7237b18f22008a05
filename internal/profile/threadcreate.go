package profile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// creation is a stack from which threads were created.
type creation struct {
	pcs  string // in the form of the output, each after a space; empty for a stack without addresses
	path []*location
	n    int64
}

// writeThreadCreate writes the text form of Go's thread creation profiles, as /debug/pprof/threadcreate?debug=1 of a Go
// program does. It has a line for each stack, with the count and the addresses, innermost first, followed by comments
// with the names. The mappings are at the end. go tool pprof reads it. Addresses mean something in one image of one
// process only: a comment gives the number of threads that were created in others.
func writeThreadCreate(p *Profile, w io.Writer, _ *Options) error {
	b := bufio.NewWriter(w)
	total := p.Total().Samples
	fmt.Fprintf(b, "# thread creation profile: %d threads", total)
	if p.Existing > 0 {
		fmt.Fprintf(b, ", %d of them existed before", p.Existing)
	}
	fmt.Fprintln(b)
	image, creations := p.mostCreations()
	for _, s := range p.finish() {
		if n := s.created(); s != image && n > 0 {
			fmt.Fprintf(b, "# not here, as addresses are those of another image: %d threads of %s (pid %d)\n", n, Clean(s.main), s.pid)
		}
	}
	counted := int64(0)
	for _, c := range creations {
		counted += c.n
	}
	fmt.Fprintf(b, "threadcreate profile: total %d\n", counted)
	for _, c := range creations {
		fmt.Fprintf(b, "%d @%s\n", c.n, c.pcs)
		writeNames(b, image, c.path)
	}
	if image != nil {
		image.writeMappings(b)
	}
	return b.Flush()
}

// mostCreations returns the image that created most threads, nil if there is none, and its stacks, the most
// frequent first.
func (p *Profile) mostCreations() (image *Space, creations []*creation) {
	most := int64(0)
	for _, s := range p.finish() {
		if n := s.created(); n > most {
			image, most = s, n
		}
	}
	if image != nil {
		creations = image.creations()
	}
	return image, creations
}

// created returns how many threads were created from known stacks.
func (s *Space) created() (n int64) {
	for _, c := range s.creations() {
		n += c.n
	}
	return n
}

// creations returns the stacks of all threads with their counts.
func (s *Space) creations() []*creation {
	byPCs := make(map[string]*creation)
	var all []*creation
	for _, c := range s.ordered() {
		path := s.path(c.stack, nil)
		var pcs strings.Builder
		for _, l := range path {
			if l.addr.Kind != note {
				fmt.Fprintf(&pcs, " %#x", l.addr.PC)
			}
		}
		if pcs.Len() == 0 {
			continue // threads that existed before
		}
		k := byPCs[pcs.String()]
		if k == nil {
			k = &creation{pcs: pcs.String(), path: path}
			byPCs[k.pcs] = k
			all = append(all, k)
		}
		k.n += c.Samples
	}
	slices.SortStableFunc(all, func(a, b *creation) int { return cmp.Compare(b.n, a.n) })
	return all
}

// writeNames writes a comment for each function of a stack, and an empty line.
func writeNames(b *bufio.Writer, s *Space, path []*location) {
	for _, l := range path {
		for _, n := range l.lines {
			f := &s.profile.functions[n.fn]
			fmt.Fprintf(b, "#\t%#x\t%s", l.addr.PC, f.name)
			if f.file != "" {
				fmt.Fprintf(b, "\t%s:%d", f.file, n.line)
			}
			fmt.Fprintln(b)
		}
	}
	fmt.Fprintln(b)
}

// writeMappings writes the mappings of an image.
func (s *places) writeMappings(b *bufio.Writer) {
	mappings := slices.Clone(s.mappings)
	slices.SortFunc(mappings, func(x, y Mapping) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.Limit, y.Limit), cmp.Compare(x.Path, y.Path))
	})
	fmt.Fprintln(b, "--- Memory map: ---")
	for _, m := range mappings {
		fmt.Fprintf(b, "%x-%x: %s (@%x)", m.Start, m.Limit, m.Path, m.Offset)
		if m.BuildID != "" {
			fmt.Fprintf(b, " %s", m.BuildID)
		}
		fmt.Fprintln(b)
	}
}
