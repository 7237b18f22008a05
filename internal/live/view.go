// Package live shows a profile while it is taken, as lines of text: what
// functions or threads have used in the last second, in the order that the user
// chooses. The size is all that it knows of a terminal.
package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ptools/internal/profile"
)

// Subject says what the lines are about.
type Subject uint8

const (
	Functions Subject = iota
	Threads
	Processes // of a tree
)

// Order says what lines are sorted by.
type Order uint8

const (
	ByCPU Order = iota
	ByWall
	BySamples
	ByName
	ByReady
)

var orderNames = [...]string{ByCPU: "processor", ByWall: "wall", BySamples: "samples", ByName: "name", ByReady: "ready"}

// View is the state of what the user sees and has chosen.
type View struct {
	Title   string
	Subject Subject
	Last    Subject // the last subject that keys can choose, at least Threads
	Order   Order
	Filter
	Paused bool // keep what is shown
	typing bool // keys go to Search
	help   bool
	note   string // shown in place of the line of keys, until the next key
	top    int    // the first line that is shown

	interval *profile.Interval
	length   time.Duration
	rows     []row
}

// Filter says which lines are shown.
type Filter struct {
	Waiting bool   // also lines without processor time
	Search  string // only lines that contain this; case does not matter
}

// hides reports whether a line is not shown.
func (f *Filter) hides(r row, idle bool) bool {
	return !f.Waiting && !idle && r.total.CPU == 0 && r.total.Ready == 0 || f.Search != "" && !strings.Contains(strings.ToLower(r.name), strings.ToLower(f.Search))
}

// row is one line: times in nanoseconds.
type row struct {
	name        string
	self, total profile.Values
}

// Show shows what was sampled in an interval.
func (v *View) Show(in *profile.Interval, length time.Duration) {
	if v.Paused {
		return
	}
	v.interval, v.length = in, length
	v.arrange()
}

// arrange makes the rows anew.
func (v *View) arrange() {
	v.rows = v.rows[:0]
	if v.interval == nil {
		return
	}
	switch v.Subject {
	case Functions:
		v.rows = functionRows(v.rows, v.interval.Functions)
	case Threads:
		for _, t := range v.interval.Threads {
			v.rows = append(v.rows, row{fmt.Sprintf("%7d  %-16s %s", t.TID, t.Name, t.Function), t.Values, t.Values})
		}
	case Processes:
		for _, t := range v.interval.Processes {
			v.rows = append(v.rows, row{fmt.Sprintf("%7d  %-16s %s", t.PID, t.Name, t.Function), t.Values, t.Values})
		}
	}
	idle := v.idle()
	v.rows = slices.DeleteFunc(v.rows, func(r row) bool { return v.hides(r, idle) })
	slices.SortFunc(v.rows, v.compare)
	v.top = max(min(v.top, len(v.rows)-1), 0)
}

// idle reports whether nothing uses the processor. What waits is shown then.
func (v *View) idle() bool {
	return v.interval != nil && v.share(v.interval.Total.CPU) < leastShown && v.share(v.interval.Total.Ready) < leastShown
}

// leastShown is the share in percent below which the figures show 0.
const leastShown = 0.05

func functionRows(rows []row, functions []profile.Function) []row {
	homes := make(map[string]map[string]bool) // the files that have a function of a name
	for _, f := range functions {
		if homes[f.Name] == nil {
			homes[f.Name] = make(map[string]bool)
		}
		homes[f.Name][f.Object] = true
	}
	for _, f := range functions {
		name := f.Name
		if f.Object != "" && (name == "[unknown]" || len(homes[name]) > 1) {
			name += " (" + f.Object[strings.LastIndexByte(f.Object, '/')+1:] + ")"
		}
		if f.Call != "" {
			name += " " + f.Call
		}
		rows = append(rows, row{name, f.Self, f.Total})
	}
	return rows
}

func (v *View) compare(a, b row) int {
	byName := cmp.Compare(a.name, b.name)
	switch v.Order {
	case ByWall:
		return cmp.Or(cmp.Compare(b.self.Wall, a.self.Wall), cmp.Compare(b.total.Wall, a.total.Wall), byName)
	case BySamples:
		return cmp.Or(cmp.Compare(b.self.Samples, a.self.Samples), cmp.Compare(b.total.Samples, a.total.Samples), byName)
	case ByName:
		return byName
	case ByReady:
		return cmp.Or(cmp.Compare(b.self.Ready, a.self.Ready), cmp.Compare(b.total.Ready, a.total.Ready), byName)
	}
	if v.idle() {
		return cmp.Or(cmp.Compare(b.self.Wall, a.self.Wall), cmp.Compare(b.total.Wall, a.total.Wall), byName)
	}
	return cmp.Or(cmp.Compare(b.self.CPU, a.self.CPU), cmp.Compare(b.total.CPU, a.total.CPU),
		cmp.Compare(b.self.Wall, a.self.Wall), cmp.Compare(b.total.Wall, a.total.Wall), byName)
}

// stays is shown at ^Z.
const stays = "not stopped: what is sampled could stand still, too; q quits, space pauses the view"

const keysLine = "q quit  space pause  s sort  1 2 3 4 processor wall samples ready  t threads  w waiting  / search  ? help"

var helpLines = []string{
	"q, ^C        quit",
	"space        pause, and go on",
	"s            sort by processor time, wall time, samples, name, ready time",
	"1 2 3 4      sort by processor time, wall time, samples, ready time",
	"t            threads, with --follow processes, and functions again",
	"w            also what waits: uses no processor time",
	"/            search: only names with this text; Enter keeps it, Escape drops it",
	"up down page up page down home   scroll",
	"",
	"Shares are of one processor, and of one thread: two busy threads are 200 %.",
	"self is the function itself, total the stacks that it is on.",
	"ready: could run, and waited for a processor. It is a part of wall.",
}

// Lines returns the lines of a screen: at most height lines of at most width characters.
func (v *View) Lines(width, height int) []string {
	lines := append(v.Head(), v.columns(width))
	body := height - len(lines) - 1
	if v.help {
		lines = append(lines, helpLines[:min(len(helpLines), max(body, 0))]...)
	} else {
		for i := v.top; i < len(v.rows) && i < v.top+body; i++ {
			lines = append(lines, v.fit(&v.rows[i], width))
		}
	}
	for len(lines) < height-1 {
		lines = append(lines, "")
	}
	lines = append(lines, v.foot())
	lines = lines[:min(len(lines), max(height, 0))]
	for i, l := range lines {
		lines[i] = clip(l, width)
	}
	return lines
}

// Head returns the lines that say what is shown.
func (v *View) Head() []string {
	second := ""
	switch {
	case v.interval == nil:
		second = "waiting for the first second"
	default:
		t := v.interval.Total
		second = fmt.Sprintf("processor %.0f %%, ready %.0f %%, %.1f threads on average, %d samples in %.1f s", v.share(t.CPU), v.share(t.Ready), v.share(t.Wall)/100, t.Samples, v.length.Seconds())
	}
	state := ""
	if v.Paused {
		state = "   [paused]"
	}
	return []string{v.Title + state, second}
}

// share returns a time as a share of the interval.
func (v *View) share(ns int64) float64 {
	if v.length <= 0 {
		return 0
	}
	return 100 * float64(ns) / float64(v.length)
}

func (v *View) foot() string {
	switch {
	case v.note != "":
		return v.note
	case v.typing:
		return "/" + v.Search + "_"
	case v.idle() && !v.Waiting && v.Search == "":
		return "nothing uses the processor: this is what waits   " + keysLine
	case v.Search != "":
		return fmt.Sprintf("%d lines with %q, sorted by %s   %s", len(v.rows), v.Search, orderNames[v.Order], keysLine)
	}
	return keysLine
}
