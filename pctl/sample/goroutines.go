package sample

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"ptools/internal/profile"
	"ptools/pctl"
)

// Goroutines has the goroutines of a Go program, except those of Go's runtime.
type Goroutines struct {
	pid  int
	at   time.Time
	took time.Duration
	all  []*pctl.Goroutine
	maps []pctl.Map // executable
}

// mostGoroutines bounds how many are held for a client: some 80 MB.
const mostGoroutines = 1 << 19

// ErrGoroutines: the program has too many goroutines to hold.
var ErrGoroutines = fmt.Errorf("it has more than %d goroutines", mostGoroutines)

// Goroutines reads the goroutines of a Go program, without stopping it. The error of another program satisfies
// pctl.ErrNoGo. If they were read just before, Goroutines returns those: a program is read for a twentieth of the time at most.
func (s *Sampler) Goroutines(ctx context.Context, pid int) (*Goroutines, error) {
	last := s.lastStop(pid)
	last.mu.Lock()
	defer last.mu.Unlock()
	if got := last.goroutines; got != nil && time.Since(got.at) < max(stopsApart*got.took, leastApart) {
		return got, nil
	}
	if err := s.working(); err != nil {
		return nil, err
	}
	defer s.ending.Done()
	p, err := s.session.Grab(ctx, pid, &pctl.GrabOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	got := &Goroutines{pid: pid, at: time.Now()}
	for g, err := range p.Goroutines(ctx) {
		switch {
		case err != nil && (len(got.all) == 0 || ctx.Err() != nil):
			return nil, err
		case err != nil: // what could be read counts
		case len(got.all) == mostGoroutines:
			return nil, ErrGoroutines
		case !g.System:
			got.all = append(got.all, g)
		}
	}
	if maps, err := p.Maps(); err == nil { // a process that has ended meanwhile has no maps
		got.maps = slices.DeleteFunc(maps, func(m pctl.Map) bool { return m.Perm&pctl.PermExec == 0 })
	}
	got.took = time.Since(got.at)
	last.goroutines = got
	return got, nil
}

// Len is how many goroutines there are.
func (g *Goroutines) Len() int { return len(g.all) }

// WriteText writes each goroutine as runtime/pprof does with debug=2, without the values of arguments.
func (g *Goroutines) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	var line []byte
	for i, one := range g.all {
		if line = line[:0]; i > 0 {
			line = append(line, '\n')
		}
		if i == 0 || one.Runtime != g.all[i-1].Runtime {
			line = one.AppendRuntime(line)
		}
		b.Write(one.AppendTrace(line)) // Flush returns the error
	}
	return b.Flush()
}

// goroutineGroup is goroutines with the same stack and labels.
type goroutineGroup struct {
	count  int
	frames []pctl.Frame
	labels []pctl.GoLabel
}

// groups returns them as runtime/pprof does: the largest first. The stack of a goroutine that runs is not known: it has a frame that
// says so, above its first function.
func (g *Goroutines) groups() []*goroutineGroup {
	type key struct {
		stack  *pctl.Frame
		state  string // without a stack
		labels string
	}
	known := make(map[key]*goroutineGroup)
	var order []*goroutineGroup
	for _, one := range g.all {
		frames, _ := one.Stack() // what is known of it
		k := key{labels: labelText(one.Labels)}
		if len(frames) > 0 {
			k.stack = &frames[0]
		} else {
			k.state = fmt.Sprint(one.State, one.Start)
		}
		of := known[k]
		if of == nil {
			if len(frames) == 0 {
				frames = append([]pctl.Frame{{Func: "[" + one.State + "]"}}, one.Begins()...)
			}
			of = &goroutineGroup{labels: one.Labels, frames: withoutWrappers(frames)}
			known[k] = of
			order = append(order, of)
		}
		of.count++
	}
	slices.SortStableFunc(order, func(a, b *goroutineGroup) int { return cmp.Compare(b.count, a.count) })
	return order
}

// withoutWrappers leaves out functions that the compiler has made. The runtime does so, too.
func withoutWrappers(frames []pctl.Frame) (others []pctl.Frame) {
	for _, f := range frames {
		if !f.Wrapper {
			others = append(others, f)
		} else if n := len(others); n > 0 && !f.Inlined {
			others[n-1].Inlined = false // it stands for the function that it was inlined into
		}
	}
	return others
}

// labelText is a set of labels as runtime/pprof writes it.
func labelText(labels []pctl.GoLabel) string {
	var pairs []string
	for _, l := range labels {
		pairs = append(pairs, fmt.Sprintf("%q:%q", l.Key, l.Value))
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ", ") + "}"
}

// WriteCounts writes the groups as runtime/pprof does with debug=1.
func (g *Goroutines) WriteCounts(w io.Writer) error {
	buffer := bufio.NewWriter(w)
	b := tabwriter.NewWriter(buffer, 1, 8, 1, '\t', 0)
	fmt.Fprintf(b, "goroutine profile: total %d\n", len(g.all))
	for _, of := range g.groups() {
		fmt.Fprintf(b, "%d @", of.count)
		for i := range of.frames {
			if f := &of.frames[i]; !f.Inlined && f.PC != 0 {
				fmt.Fprintf(b, " %#x", f.PC)
			}
		}
		if len(of.labels) > 0 {
			fmt.Fprintf(b, "\n# labels: %s", labelText(of.labels))
		}
		fmt.Fprintln(b)
		writeCounted(b, of.frames)
		fmt.Fprintln(b)
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return buffer.Flush()
}

// writeCounted writes the frames of a group without functions of the runtime at their beginning, unless it has no others.
func writeCounted(w io.Writer, frames []pctl.Frame) {
	own := func(f pctl.Frame) bool {
		return !strings.HasPrefix(f.Func, "runtime.") && !strings.HasPrefix(f.Func, "internal/runtime/")
	}
	first := max(slices.IndexFunc(frames, own), 0)
	for _, f := range frames[first:] {
		pc, offset := f.PC, f.Offset
		if offset > 0 { // a return address: the call is before it
			pc, offset = pc-1, offset-1
		}
		switch {
		case f.Func == "runtime.goexit":
		case f.PC == 0 || f.Func == "":
			fmt.Fprintf(w, "#\t%#x\t%s\n", pc, functionOf(&f))
		default:
			fmt.Fprintf(w, "#\t%#x\t%s+%#x\t%s:%d\n", pc, functionOf(&f), offset, profile.Clean(f.File), f.Line)
		}
	}
}

// WritePprof writes a gzipped profile.proto with the sample type goroutine/count and the labels of the goroutines.
func (g *Goroutines) WritePprof(w io.Writer) error {
	b := newStackBuilder(g.at, g.took, g.maps)
	for _, of := range g.groups() {
		last := b.add(of.frames, int64(of.count))
		for _, l := range of.labels {
			if last.Label == nil {
				last.Label = make(map[string][]string)
			}
			key := profile.Clean(l.Key)
			last.Label[key] = append(last.Label[key], profile.Clean(l.Value))
		}
	}
	return b.out.Write(w)
}
