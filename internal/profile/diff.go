package profile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"ptools/internal/clean"
	"ptools/internal/fit"
	"ptools/internal/flame"
	"ptools/internal/intern"
)

// Diff is a profile beside an earlier one. What is compared are shares: how long each was taken does not matter. Functions are
// the same if their names are, and the base names of the files that hold them.
type Diff struct{ Base, Now *Profile }

// ErrNoDiff: the format has no form for two profiles.
var ErrNoDiff = errors.New("shows one profile: two are compared as text, folded, html, svg or json")

// NewDiff returns the comparison of two profiles, which must be of the same subject.
func NewDiff(base, now *Profile) (*Diff, error) {
	if base.Subject != now.Subject {
		return nil, fmt.Errorf("a profile of %s cannot be compared with one of %s", subjectNames[now.Subject], subjectNames[base.Subject])
	}
	return &Diff{base, now}, nil
}

// Write writes the comparison. The value is that of the options.
func (d *Diff) Write(w io.Writer, f Format, o *Options) error {
	if d.Now.Subject == ThreadCreate {
		of := *o
		of.Value, o = Samples, &of
	}
	write, ok := Compared(f)
	if !ok {
		return fmt.Errorf("%v %w", f, ErrNoDiff)
	}
	return write(d, w, o)
}

// Compared returns what writes a comparison in a format; ok is false if nothing does.
func Compared(f Format) (write func(*Diff, io.Writer, *Options) error, ok bool) {
	write, ok = map[Format]func(*Diff, io.Writer, *Options) error{
		Text:   (*Diff).writeText,
		Folded: (*Diff).writeFolded,
		JSON:   func(d *Diff, w io.Writer, o *Options) error { return clean.Encode(w, d.document(o)) },
		HTML:   func(d *Diff, w io.Writer, o *Options) error { return d.graph(o).HTML(w) },
		SVG:    func(d *Diff, w io.Writer, o *Options) error { return d.graph(o).SVG(w) },
	}[f]
	return write, ok
}

// shift is a function's shares of the value, in percent.
type shift struct {
	label
	before, now           float64 // of the function itself
	totalBefore, totalNow float64 // of the stacks that it is on
}

// change returns by how many points the share of the function itself has grown.
func (s *shift) change() float64 { return s.now - s.before }

// shifts returns all functions, those that have changed most first.
func (d *Diff) shifts(o *Options) []shift {
	all := make(map[label]*shift)
	fill := func(p *Profile, set func(s *shift, self, total float64)) {
		h, total := newHistogram(), p.Total()
		whole := total.of(o.Value)
		p.eachCounted(o, func(_ thread, stack []label, v Values) {
			for i := range stack {
				stack[i].object = baseName(stack[i].object)
			}
			h.add(stack, v)
		})
		for l, t := range h.tallies {
			set(intern.Value(all, l, func() *shift { return &shift{label: l} }), percent(t.self.of(o.Value), whole), percent(t.total.of(o.Value), whole))
		}
	}
	fill(d.Base, func(s *shift, self, total float64) { s.before, s.totalBefore = self, total })
	fill(d.Now, func(s *shift, self, total float64) { s.now, s.totalNow = self, total })
	var list []shift
	for _, s := range all {
		if s.before != 0 || s.now != 0 || o.OnStack && (s.totalBefore != 0 || s.totalNow != 0) {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(a, b shift) int {
		return cmp.Or(
			cmp.Compare(math.Abs(b.change()), math.Abs(a.change())),
			cmp.Compare(math.Abs(b.totalNow-b.totalBefore), math.Abs(a.totalNow-a.totalBefore)),
			cmp.Compare(a.qualified(), b.qualified()),
		)
	})
	return list
}

// baseName is path.Base, and empty for an empty path.
func baseName(file string) string {
	if file == "" {
		return ""
	}
	return path.Base(file)
}

// graph returns the later profile as a tree of functions, with the counts of the earlier one beside it.
func (d *Diff) graph(o *Options) *flame.Graph {
	g := flame.New()
	g.Title = subjectsOf(d.Now)
	g.Compared = true
	var head strings.Builder
	d.writeHeads(&head, o)
	g.About = append(strings.Split(strings.TrimSpace(head.String()), "\n"), "what is gone has no box: -O text has it")
	names, values := graphed(d.Now), []Value{Samples}
	if d.Now.Subject == Time {
		values = graphValues[:len(names)]
		g.Initial = max(slices.Index(values, o.Value), 0)
	}
	g.Values = append(slices.Clone(names), names...)
	g.Thread(flame.Thread{Name: "all threads"})
	for i, p := range []*Profile{d.Now, d.Base} {
		b := newGraphBuilder(p, &Options{By: ByNone, Lines: o.Lines}, g)
		b.compared = true
		b.counts = func(c *cell) []int64 {
			counts := make([]int64, len(g.Values))
			for j, v := range values {
				counts[i*len(values)+j] = c.of(v)
				if i == 1 {
					counts[i*len(values)+j] = int64(math.Round(float64(c.of(v)) * d.stretch(v)))
				}
			}
			return counts
		}
		for _, s := range p.finish() {
			b.space(s)
		}
	}
	return g
}

// writeHeads says which profiles are compared.
func (d *Diff) writeHeads(w io.Writer, o *Options) {
	for _, p := range []struct {
		when string
		*Profile
	}{{"now", d.Now}, {"before", d.Base}} {
		_, lines := p.about()
		fmt.Fprintf(w, "%s: %s: %s\n", p.when, subjectsOf(p.Profile), lines[0])
		if p.kept != "" {
			fmt.Fprintf(w, "%s: only stacks %s\n", p.when, p.kept)
		}
	}
	fmt.Fprintf(w, "shares of %s; change in points\n", d.valueName(o))
}

func (d *Diff) valueName(o *Options) string {
	if d.Now.Subject == ThreadCreate {
		return "threads created"
	}
	return map[Value]string{Samples: "samples", CPU: "processor time", Wall: "wall time", Ready: "ready time", Goroutines: "the time of goroutines"}[o.Value]
}

func (d *Diff) writeText(w io.Writer, o *Options) error {
	out := bufio.NewWriter(w)
	counted := &lineCounter{w: out, width: o.Screen.Width}
	b := bufio.NewWriter(counted)
	d.writeHeads(b, o)
	fmt.Fprintln(b)
	if err := b.Flush(); err != nil {
		return err
	}
	columns := []string{"before", "now", "change"}
	if o.OnStack {
		columns = append(columns, "before", "now", "total")
	}
	width := 0
	for _, c := range columns {
		fmt.Fprintf(b, "%8s  ", c)
		width += 10
	}
	fmt.Fprintln(b, "function")
	list := d.shifts(o)
	room, rest := o.Screen.below(counted.lines), 0
	if room > 0 && len(list) > room-1 {
		kept := max(room-2, 1)
		list, rest = list[:kept], len(list)-kept
	}
	for _, s := range list {
		fmt.Fprintf(b, "%7.2f%%  %7.2f%%  %+8.2f  ", s.before, s.now, s.change())
		if o.OnStack {
			fmt.Fprintf(b, "%7.2f%%  %7.2f%%  %+8.2f  ", s.totalBefore, s.totalNow, s.totalNow-s.totalBefore)
		}
		name := s.String()
		if o.Screen.Width > 0 {
			name = fit.Cut(name, max(o.Screen.Width-width, leastName))
		}
		fmt.Fprintln(b, name)
	}
	if rest > 0 {
		fmt.Fprintf(b, "… %d more; in a pipe or a file all are there\n", rest)
	}
	return cmp.Or(b.Flush(), out.Flush())
}

// writeFolded writes for each stack what it counted before and what it counts now. The former is stretched, so that both have
// the same sum.
func (d *Diff) writeFolded(w io.Writer, o *Options) error {
	before, now := folded(d.Base, o), folded(d.Now, o)
	stretch := d.stretch(o.Value)
	for stack := range before {
		now[stack] += 0
	}
	out := bufio.NewWriter(w)
	for _, stack := range slices.Sorted(maps.Keys(now)) {
		fmt.Fprintf(out, "%s %.0f %d\n", stack, float64(before[stack])*stretch, now[stack])
	}
	return out.Flush()
}

// stretch returns the factor by which a value of the earlier profile is multiplied, so that both have the same sum.
func (d *Diff) stretch(v Value) float64 {
	now, before := d.Now.Total(), d.Base.Total()
	if before.of(v) == 0 {
		return 0
	}
	return float64(now.of(v)) / float64(before.of(v))
}

// DiffDocument is the comparison of two profiles as JSON.
type DiffDocument struct {
	Version   int            `json:"version"` // of this schema: 1
	Value     string         `json:"value"`   // what the shares are of
	Functions []DiffFunction `json:"functions"`
}

// DiffFunction has the shares of a function, in percent: of the function itself, and of the stacks that it is on.
type DiffFunction struct {
	Name        string  `json:"name"`
	Object      string  `json:"object,omitempty"` // base name of the file that holds the code
	Before      float64 `json:"before"`
	Now         float64 `json:"now"`
	TotalBefore float64 `json:"total_before"`
	TotalNow    float64 `json:"total_now"`
}

func (d *Diff) document(o *Options) *DiffDocument {
	all := *o
	all.OnStack = true
	doc := &DiffDocument{Version: 1, Value: o.Value.String(), Functions: []DiffFunction{}}
	for _, s := range d.shifts(&all) {
		doc.Functions = append(doc.Functions, DiffFunction{s.calling(s.name), s.object, s.before, s.now, s.totalBefore, s.totalNow})
	}
	return doc
}
