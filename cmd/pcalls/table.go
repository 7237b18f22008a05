package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/term"

	"ptools/internal/calls"
	"ptools/internal/clean"
	"ptools/internal/fit"
	"ptools/internal/job"
	"ptools/internal/perfevent"
)

// A row is a function that was called.
type row struct {
	target *calls.Target
	stats  calls.Stats
}

// timed reports whether the ends of the function's calls are seen.
func (r *row) timed() bool { return r.target.Plan.Whole == nil }

// open returns how many calls have not ended, or have ended without a return.
func (r *row) open() uint64 { return r.stats.Calls - min(r.stats.Returned, r.stats.Calls) }

// A table reads the statistics of all functions.
type table struct {
	s    *session
	last []calls.Stats // at the end of the last second
}

func newTable(s *session) *table {
	return &table{s: s, last: make([]calls.Stats, len(s.watch.Targets))}
}

// read returns the functions that were called, those that have taken most time first.
func (t *table) read() []row {
	var rows []row
	for i := range t.s.watch.Targets {
		r := row{target: &t.s.watch.Targets[i]}
		if t.s.watch.Read(i, &r.stats) && r.stats.Calls > 0 {
			rows = append(rows, r)
		}
	}
	return ordered(rows)
}

// second returns those that were called, or whose calls have ended, since the last time.
func (t *table) second() []row {
	var rows []row
	for i := range t.s.watch.Targets {
		var now calls.Stats
		if !t.s.watch.Read(i, &now) {
			continue
		}
		r := row{&t.s.watch.Targets[i], calls.Since(&now, &t.last[i])}
		t.last[i] = now
		if r.stats.Calls > 0 || r.stats.Returned > 0 {
			rows = append(rows, r)
		}
	}
	return ordered(rows)
}

func ordered(rows []row) []row {
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.stats.Sum, a.stats.Sum), cmp.Compare(b.stats.Calls, a.stats.Calls), cmp.Compare(a.target.Name, b.target.Name))
	})
	return rows
}

// Lines beside the rows: the header, the closing lines and the prompt.
const besideRows = 5

// room returns the width of the terminal, and how many rows are printed.
func (s *session) room(rows int) (width, n int) {
	n = rows
	if s.top {
		n = min(n, 20)
	}
	if f, ok := s.stdout.(*os.File); ok && job.IsTerminal(f) {
		if w, height, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && height > 0 {
			width, n = w, min(rows, max(height-besideRows, 1))
		}
	}
	if s.number > 0 {
		n = min(rows, s.number)
	}
	return width, n
}

// print prints the result.
func (s *session) print(rows []row, length time.Duration) error {
	if s.json {
		return s.printJSON(rows)
	}
	width, n := s.room(len(rows))
	if err := s.printRows(rows[:n], length, width, ""); err != nil {
		return err
	}
	all := uint64(0)
	untimed, unseen := uint64(0), uint64(0)
	for i := range rows {
		unseen += rows[i].stats.Unseen
		all += rows[i].stats.Calls
		untimed += rows[i].stats.Untimed
	}
	if unseen > 0 {
		s.say("%s not printed: there were too many at once", counted(unseen, "call was", "calls were"))
	}
	if untimed > 0 {
		s.say("%s no time: the kernel's table of open calls was full", counted(untimed, "call has", "calls have"))
	}
	s.say("%s of %s in %s; %s%s looked at%s", counted(all, "call", "calls"), counted(uint64(len(rows)), "function", "functions"), duration(length),
		shown(n, len(rows)), counted(uint64(len(s.watch.Targets)), "was", "were"), stepped(rows))
	return nil
}

// stepped says how many functions' times include a single step, which is much for a short function.
func stepped(rows []row) string {
	n := 0
	for i := range rows {
		if rows[i].timed() && !rows[i].target.Plan.Entry.Emulated {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "; 1 of them begins with an instruction that the kernel has to step, which its times include"
	}
	return fmt.Sprintf("; %d of them begin with instructions that the kernel has to step, which their times include", n)
}

// counted returns a number with its noun or verb.
func counted(n uint64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func shown(n, all int) string {
	if n == all {
		return ""
	}
	return fmt.Sprintf("%d are shown, ", n)
}

// clear moves the cursor to the top of the terminal and clears it.
const clear = "\x1b[H\x1b[2J"

// show prints the table of a second.
func (t *table) show(rows []row, length time.Duration) error {
	width, n := t.s.room(len(rows))
	head := fmt.Sprintf("%s  process %d: %d functions called\n", time.Now().Format(time.TimeOnly), t.s.pid, len(rows))
	if width > 0 {
		head = clear + head
	}
	return t.s.printRows(rows[:n], length, width, head)
}

// printRows prints a table, which ends with an empty line if it has a head.
func (s *session) printRows(rows []row, length time.Duration, width int, head string) error {
	w := bufio.NewWriter(s.stdout)
	w.WriteString(head)
	anyOpen := slices.ContainsFunc(rows, func(r row) bool { return r.timed() && r.open() > 0 })
	line := fmt.Sprintf("%10s %9s %8s %8s %8s %8s %8s", "CALLS", "CALLS/S", "P50", "P90", "P99", "MAX", "TOTAL")
	if anyOpen {
		line += fmt.Sprintf(" %7s", "OPEN")
	}
	fmt.Fprintln(w, line+"  FUNCTION")
	for i := range rows {
		r := &rows[i]
		line := fmt.Sprintf("%10d %9s", r.stats.Calls, rate(r.stats.Calls, length))
		for _, q := range []float64{.5, .9, .99} {
			line += fmt.Sprintf(" %8s", r.time(calls.Quantile(&r.stats, q)))
		}
		line += fmt.Sprintf(" %8s %8s", r.time(r.stats.Max), r.time(r.stats.Sum))
		if anyOpen {
			line += fmt.Sprintf(" %7s", r.openText())
		}
		name := clean.Text(r.target.Name)
		if width > 0 {
			name = fit.Cut(name, max(width-len(line)-2, 8))
		}
		fmt.Fprintln(w, line+"  "+name)
	}
	if head != "" {
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// time returns a time of calls, if their ends are seen and there are any.
func (r *row) time(d time.Duration) string {
	if !r.timed() || r.stats.Returned == 0 {
		return "-"
	}
	return duration(d)
}

func (r *row) openText() string {
	if !r.timed() {
		return "-"
	}
	return strconv.FormatUint(r.open(), 10)
}

// rate returns a number of calls per second.
func rate(n uint64, length time.Duration) string {
	if length <= 0 {
		return "-"
	}
	perSecond := float64(n) / length.Seconds()
	if perSecond < 10 {
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return strconv.FormatFloat(perSecond, 'f', 0, 64)
}

// duration returns a time with three digits: 640ns, 1.23ms.
func duration(d time.Duration) string {
	v, unit := float64(d), "ns"
	for _, next := range []struct {
		factor float64
		unit   string
	}{{1000, "us"}, {1000, "ms"}, {1000, "s"}} {
		if v < 999.5 {
			break
		}
		v, unit = v/next.factor, next.unit
	}
	digits := 0
	if unit != "ns" && v < 99.95 {
		if digits = 1; v < 9.995 {
			digits = 2
		}
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + unit
}

// jsonRow is a function in JSON. Times are in nanoseconds.
type jsonRow struct {
	Function string      `json:"function"`
	Raw      string      `json:"raw"`
	Object   string      `json:"object"`
	Calls    uint64      `json:"calls"`
	Returned *uint64     `json:"returned,omitempty"` // absent: the ends are not seen
	Tails    uint64      `json:"tail_calls,omitempty"`
	Left     uint64      `json:"left,omitempty"`
	Untimed  uint64      `json:"untimed,omitempty"`
	Unseen   uint64      `json:"not_printed,omitempty"`
	Sum      int64       `json:"sum_ns"`
	Max      int64       `json:"max_ns"`
	Times    [][2]uint64 `json:"histogram,omitempty"` // least duration of the class, calls
}

// printJSON prints an object a line.
func (s *session) printJSON(rows []row) error {
	w := bufio.NewWriter(s.stdout)
	n := len(rows)
	if s.number > 0 {
		n = min(n, s.number)
	}
	for i := range rows[:n] {
		r := &rows[i]
		j := jsonRow{
			Function: r.target.Name, Raw: r.target.Raw, Object: r.target.Object, Calls: r.stats.Calls,
			Tails: r.stats.Tails, Left: r.stats.Left, Untimed: r.stats.Untimed, Unseen: r.stats.Unseen, Sum: int64(r.stats.Sum), Max: int64(r.stats.Max),
		}
		if r.timed() {
			j.Returned = &r.stats.Returned
		}
		for class, n := range r.stats.Buckets {
			if n > 0 {
				j.Times = append(j.Times, [2]uint64{uint64(perfevent.BucketStart(class)), n})
			}
		}
		if err := writeJSON(w, j); err != nil {
			return err
		}
	}
	return w.Flush()
}

// writeJSON writes a value as a line that is fit for a terminal.
func writeJSON(w *bufio.Writer, v any) error {
	return clean.Encode(w, v)
}
