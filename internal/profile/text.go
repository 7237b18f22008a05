package profile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"ptools/internal/intern"
)

// tally is one line of a histogram.
type tally struct {
	self, total Values
	last        int // the last stack that was counted in it
}

// histogram counts labels over stacks.
type histogram struct {
	tallies map[label]*tally
	stacks  int
}

func newHistogram() *histogram { return &histogram{tallies: make(map[label]*tally)} }

// add counts one stack, innermost first. A recursive function counts once.
func (h *histogram) add(stack []label, v Values) {
	h.stacks++
	for i, l := range stack {
		t := intern.Value(h.tallies, l, func() *tally { return new(tally) })
		if i == 0 {
			t.self.add(v)
		}
		if t.last != h.stacks {
			t.last = h.stacks
			t.total.add(v)
		}
	}
}

// writeText writes a header and the histogram: a line of column names, then a line for each function with its
// shares of processor time and wall time. The largest share of the chosen value comes first. With OnStack
// each share comes twice: for the function itself, and for the stacks that it is on. Shares of processor time
// refer to the processor time of the targets, shares of wall time to the time of all their threads.
func writeText(p *Profile, w io.Writer, o *Options) error {
	out := bufio.NewWriter(w) // a reader that has seen the head has all that fits into its buffer
	counted := &lineCounter{w: out, width: o.Screen.Width}
	b := bufio.NewWriter(counted)
	var columns []column
	total := p.Total()
	writeHead(p, b)
	if p.Subject == Contention {
		writeHolders(p, b, o)
		return cmp.Or(b.Flush(), out.Flush())
	}
	fmt.Fprintln(b)
	if p.Subject == ThreadCreate {
		columns = []column{{"created", Samples, total.Samples}}
	} else {
		writeCommands(p, b, o.Screen.Height/4)
		columns = timeColumns(total, o)
	}
	if err := b.Flush(); err != nil {
		return err
	}
	room := o.Screen.below(counted.lines)
	if o.Threads {
		writeThreads(p, b, columns, o, room)
	} else {
		h := newHistogram()
		p.eachCounted(o, func(_ thread, stack []label, v Values) { h.add(stack, v) })
		h.write(b, columns, o, room)
	}
	return cmp.Or(b.Flush(), out.Flush())
}

// timeColumns returns the columns of a profile of time. In a file they are always the same.
func timeColumns(total Values, o *Options) []column {
	columns := []column{{"cpu", CPU, total.CPU}}
	wide := o.Screen.Width >= 110 || o.Screen.Width > 0 && !o.OnStack
	if o.Value == Ready || wide && percent(total.Ready, total.Wall) >= 1 {
		columns = append(columns, column{"ready", Ready, total.Wall})
	}
	columns = append(columns, column{"wall", Wall, total.Wall})
	if total.Goroutines > 0 {
		columns = append(columns, column{"goroutines", Goroutines, total.Goroutines})
	}
	return columns
}

// A column is one of the shares that a table shows.
type column struct {
	name  string
	value Value
	whole int64
}

func (c *column) of(v Values) int64 { return v.of(c.value) }

// callsNote explains the names of a table.
const callsNote = "; name [call]: in that system call"

// writeHead writes some lines that say what was sampled, and how.
func writeHead(p *Profile, b io.Writer) {
	total := p.Total()
	if p.Subject == ThreadCreate {
		fmt.Fprintf(b, "%s: %.1f s, %s created", subjectsOf(p), p.Duration.Seconds(), plural(int(total.Samples-p.Existing), "thread", "threads"))
		if p.Existing > 0 {
			fmt.Fprintf(b, ", %d existed before", p.Existing)
		}
		fmt.Fprintln(b)
		return
	}
	if p.Subject == Contention {
		writeWaitHead(p, b)
		return
	}
	if p.Subject == Calls {
		writeCalledHead(p, b)
		return
	}
	seconds, threads := p.Duration.Seconds(), 0.0
	if seconds > 0 { // not computed from samples: there are fewer rounds while many threads run
		threads = float64(total.Wall) / 1e9 / seconds
	}
	rounds := plural(int(p.Rounds), "sample", "samples")
	if p.partial {
		rounds = "sampled"
	}
	fmt.Fprintf(b, "%s: %.1f s, %s at %s Hz, %.1f threads on average\n", subjectsOf(p), seconds, rounds, Hertz(p.Period), threads)
	if p.kept != "" {
		fmt.Fprintf(b, "only stacks %s\n", p.kept)
	}
	used := float64(total.CPU) / 1e9
	of := 0.0
	if seconds > 0 {
		of = 100 * used / seconds
	}
	fmt.Fprintf(b, "processor time: %.2f s, %.0f %% of one processor", used, of)
	if p.Means != "" {
		fmt.Fprintf(b, ", measured by %s", p.Means)
	}
	fmt.Fprintf(b, "\nwall time: %.1f s of all threads%s%s\n", float64(total.Wall)/1e9, total.states(p.partial), callsNote)
	p.Goroutines.write(b)
}

// states says in which states threads have passed their wall time, for users.
func (v Values) states(partial bool) string {
	if v.Wall <= 0 {
		return ""
	}
	running := min(percent(v.CPU, v.Wall), 100)
	if partial {
		return fmt.Sprintf(": %.0f %% running, %.0f %% waiting, for a processor too", running, 100-running)
	}
	ready := min(percent(v.Ready, v.Wall), 100-running)
	return fmt.Sprintf(": %.0f %% running, %.0f %% ready (waiting for a processor), %.0f %% waiting", running, ready, 100-running-ready)
}

// Hertz returns how often a period fits into a second. Rates below 10 keep two digits: 0.5 is not 0.
func Hertz(period time.Duration) string {
	if period <= 0 {
		return "0"
	}
	rate := 1 / period.Seconds()
	if rate < 10 {
		return strconv.FormatFloat(rate, 'g', 2, 64)
	}
	return strconv.FormatFloat(rate, 'f', 0, 64)
}

// subjectsOf names what was sampled.
func subjectsOf(p *Profile) string {
	if p.IsTree() {
		return p.tree()
	}
	var names []string
	for _, pr := range programsOf(p) {
		names = append(names, pr.String())
	}
	switch {
	case len(names) == 0:
		return "nothing"
	case len(names) > 3:
		return fmt.Sprintf("%d processes", len(names))
	}
	return strings.Join(names, ", ")
}

// eachCounted calls f with the part of each stack of each thread that a histogram counts.
// For thread creations that is the part that is not the same in all stacks. The slice is
// valid during the call.
func (p *Profile) eachCounted(o *Options, f func(t thread, stack []label, v Values)) {
	part := wholeStack
	if p.Subject == ThreadCreate {
		part = (*Space).creator
	}
	var stack []label
	for _, s := range p.finish() {
		for _, c := range s.ordered() {
			stack = s.merged(part(s, c.stack), o, stack[:0])
			f(p.threads[c.thread], stack, c.Values)
		}
	}
}

// eachStack calls f for each distinct stack of each thread that counts anything in the chosen value. In a tree the
// outermost label may be the process. The slice is valid during the call.
func (p *Profile) eachStack(o *Options, f func(t thread, stack []label, n int64)) {
	var stack []label
	for _, s := range p.finish() {
		for _, c := range s.ordered() {
			if n := drawn(p, c, o.Value); n != 0 {
				stack = s.labels(c.stack, o, stack[:0])
				stack = p.root(p.threads[c.thread], o, stack)
				f(p.threads[c.thread], stack, n)
			}
		}
	}
}

func wholeStack(_ *Space, stack StackID) StackID { return stack }

// String returns a name of the thread for users.
func (t thread) String() string {
	if t.tid == 0 {
		return fmt.Sprintf("%s (pid %d)", t.name, t.pid)
	}
	return fmt.Sprintf("%s (tid %d)", t.name, t.tid)
}

// sorted returns the labels that the table shows, in its order.
func (h *histogram) sorted(o *Options) []label {
	labels := make([]label, 0, len(h.tallies))
	for l, t := range h.tallies {
		if o.OnStack || t.self != (Values{}) {
			labels = append(labels, l)
		}
	}
	slices.SortFunc(labels, func(x, y label) int {
		a, b := h.tallies[x], h.tallies[y]
		return cmp.Or(
			cmp.Compare(b.self.of(o.Value), a.self.of(o.Value)),
			cmp.Compare(b.self.Wall, a.self.Wall),
			cmp.Compare(b.self.Goroutines, a.self.Goroutines),
			cmp.Compare(b.total.of(o.Value), a.total.of(o.Value)),
			cmp.Compare(b.total.Wall, a.total.Wall),
			cmp.Compare(x.name, y.name),
			cmp.Compare(x.object, y.object),
		)
	})
	return labels
}

func percent(n, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * float64(n) / float64(whole)
}
