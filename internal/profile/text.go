package profile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
)

// tally is one line of a histogram.
type tally struct {
	leaf, onStack int64
	last          int // the last stack that counted on it
}

// histogram counts labels over stacks.
type histogram struct {
	tallies map[label]*tally
	stacks  int
}

// add counts one stack, innermost first. A function that recurses is on the
// stack once.
func (h *histogram) add(stack []label, n int64) {
	h.stacks++
	for i, l := range stack {
		t := h.tallies[l]
		if t == nil {
			t = new(tally)
			h.tallies[l] = t
		}
		if i == 0 {
			t.leaf += n
		}
		if t.last != h.stacks {
			t.last = h.stacks
			t.onStack += n
		}
	}
}

// writeText writes the histogram: how many samples, then a line for each
// function with its share as a leaf, with OnStack its share anywhere on the
// stack, and its name, the largest first. Shares are of the rounds taken, so
// two busy threads sum to 200 %; of processor time they are of the time that
// the targets used, of wall time of the time that passed. Of thread creations
// they are of the threads created, and the leaf is who wanted the thread.
func (p *Profile) writeText(w io.Writer, o *Options) error {
	b := bufio.NewWriter(w)
	total := p.Total()
	if p.Subject == ThreadCreate {
		fmt.Fprintf(b, "%d threads created\n", total.Samples)
	} else {
		avg := 0.0
		if p.Rounds > 0 {
			avg = float64(total.Samples) / float64(p.Rounds)
		}
		fmt.Fprintf(b, "%d samples (avg %.1f threads)\n", p.Rounds, avg)
	}
	whole := p.whole(o.Value, total)
	if o.Threads {
		p.writeThreads(b, whole, o)
	} else {
		h := histogram{tallies: make(map[label]*tally)}
		p.eachCounted(o, func(_ thread, stack []label, n int64) { h.add(stack, n) })
		h.write(b, whole, o)
	}
	return b.Flush()
}

// whole is what a share of 100 % stands for.
func (p *Profile) whole(v Value, total Values) int64 {
	switch {
	case p.Subject == ThreadCreate:
		return total.Samples
	case v == CPU:
		return cmp.Or(int64(p.CPU), total.CPU)
	case v == Wall:
		return cmp.Or(int64(p.Duration), total.Wall)
	}
	return p.Rounds
}

// eachCounted is eachStack with what a histogram counts of each stack: of thread
// creations, what is not the same in all of them.
func (p *Profile) eachCounted(o *Options, f func(t thread, stack []label, n int64)) {
	if p.Subject == ThreadCreate {
		p.eachPart(o, (*Space).creator, f)
		return
	}
	p.eachStack(o, f)
}

// eachStack calls f for each distinct stack of each thread that counts
// anything in the value chosen. The slice is valid during the call.
func (p *Profile) eachStack(o *Options, f func(t thread, stack []label, n int64)) {
	p.eachPart(o, wholeStack, f)
}

func wholeStack(_ *Space, stack StackID) StackID { return stack }

// eachPart is eachStack with the part of each stack that part returns.
func (p *Profile) eachPart(o *Options, part func(*Space, StackID) StackID, f func(t thread, stack []label, n int64)) {
	var stack []label
	for _, s := range p.finish() {
		for _, c := range s.ordered() {
			if n := c.of(o.Value); n != 0 {
				stack = s.labels(part(s, c.stack), o, stack[:0])
				f(p.threads[c.thread], stack, n)
			}
		}
	}
}

func (p *Profile) writeThreads(b *bufio.Writer, whole int64, o *Options) {
	perThread := make(map[thread]*histogram)
	p.eachCounted(o, func(t thread, stack []label, n int64) {
		h := perThread[t]
		if h == nil {
			h = &histogram{tallies: make(map[label]*tally)}
			perThread[t] = h
		}
		h.add(stack, n)
	})
	threads := make([]thread, 0, len(perThread))
	for t := range perThread {
		threads = append(threads, t)
	}
	slices.SortFunc(threads, compareThreads)
	for _, t := range threads {
		fmt.Fprintf(b, "\n%s\n", t)
		perThread[t].write(b, whole, o)
	}
}

// String names a thread for people.
func (t thread) String() string {
	if t.tid == 0 {
		return fmt.Sprintf("%s (pid %d)", t.name, t.pid)
	}
	return fmt.Sprintf("%s (tid %d)", t.name, t.tid)
}

func (h *histogram) write(b *bufio.Writer, whole int64, o *Options) {
	labels := make([]label, 0, len(h.tallies))
	homes := make(map[string]int) // how many functions share a name
	for l, t := range h.tallies {
		if t.leaf != 0 || o.OnStack {
			labels = append(labels, l)
			homes[l.name]++
		}
	}
	slices.SortFunc(labels, func(x, y label) int {
		a, b := h.tallies[x], h.tallies[y]
		return cmp.Or(
			cmp.Compare(b.leaf, a.leaf),
			cmp.Compare(b.onStack, a.onStack),
			cmp.Compare(x.name, y.name),
			cmp.Compare(x.object, y.object),
		)
	})
	for _, l := range labels {
		name := l.String()
		if homes[l.name] > 1 {
			name = l.qualified()
		}
		t := h.tallies[l]
		fmt.Fprintf(b, "%6.2f%%\t", percent(t.leaf, whole))
		if o.OnStack {
			fmt.Fprintf(b, "%6.2f%%\t", percent(t.onStack, whole))
		}
		fmt.Fprintf(b, "%s\n", name)
	}
}

func percent(n, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * float64(n) / float64(whole)
}
