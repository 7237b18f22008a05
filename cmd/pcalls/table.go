package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"ptools/internal/calls"
	"ptools/internal/clean"
	"ptools/internal/fit"
	"ptools/internal/job"
	"ptools/internal/perfevent"
)

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
	lifted := liftedOf(s.parts)
	width, n := s.room(len(rows) + len(lifted))
	more := lifted[:max(n-len(rows), 0)]
	n = min(n, len(rows))
	if err := s.printRows(rows[:n], length, width, ""); err != nil {
		return err
	}
	if err := s.printLifted(more); err != nil {
		return err
	}
	s.tellEnd(rows, s.shown(n, len(rows)), length)
	return nil
}

// tellEnd prints the closing lines.
func (s *session) tellEnd(rows []row, shown string, length time.Duration) {
	all := s.tellMissing(rows)
	if text := endedByJump(rows); text != "" {
		s.say("%s", text)
	}
	s.tellInlined()
	functions := functionsOf(rows)
	s.say("%s of %s in %s; %s%s looked at%s%s%s", counted(all, "call", "calls"), counted(uint64(len(functions)), "function", "functions"), duration(length),
		shown, counted(uint64(lookedAt(s.parts)), "was", "were"), inAll(s.parts), s.traps.overhead(rows), taken(s.parts, length))
}

// lookedAt returns how many functions were looked at.
func lookedAt(parts []*part) (n int) {
	for _, p := range parts {
		n += len(p.watch.Targets)
	}
	return n
}

// inAll says that there are several processes.
func inAll(parts []*part) string {
	if len(parts) == 1 {
		return ""
	}
	return fmt.Sprintf(" in %d processes", len(parts))
}

// fewInlined is with how many functions copies that were inlined are looked for after the counting.
const fewInlined = 4

// copiesText names some functions that were inlined.
func copiesText(copies []calls.Copy) string {
	var texts []string
	for _, c := range copies {
		texts = append(texts, c.Name+" in "+c.In)
	}
	return calls.FirstOf(texts)
}

// tellInlined says which functions that were asked for have copies whose calls are not counted. Those of single functions are not looked for if they
// are many: it would take long.
func (s *session) tellInlined() {
	if s.quiet {
		return
	}
	p := s.parts[0] // of others that are the same program it would be the same
	said := map[string]bool{}
	for i := range s.patterns {
		copies := p.process.InlinedCopies(&s.patterns[i])
		for _, c := range copies {
			said[c.Name] = true
		}
		if len(copies) > 0 {
			s.say("%s also names functions that were inlined: calls there are not counted (%s)", s.patterns[i].Text, copiesText(copies))
		}
	}
	if len(p.watch.Targets) > fewInlined {
		return
	}
	for i := range p.watch.Targets {
		t := &p.watch.Targets[i]
		if said[t.Name] {
			continue
		}
		if in := p.process.Inlined(t); len(in) > 0 {
			s.say("%s was also inlined, in %s: calls there are not counted", t.Name, calls.FirstOf(in))
		}
	}
}

// tellMissing says what the table does not have, and returns how many calls it has.
func (s *session) tellMissing(rows []row) (all uint64) {
	var untimed, unseen, others, unsummed uint64
	for i := range rows {
		r := &rows[i]
		unseen += r.stats.Unseen
		all += r.stats.Calls
		untimed += r.stats.Untimed
		if r.Group != nil && r.Rest == calls.Others {
			others += r.stats.Calls
		}
		if s.sum != nil {
			unsummed += s.summed(r) - min(r.stats.Amount.Calls, s.summed(r))
		}
	}
	if unseen > 0 && s.save.output != "" {
		s.say("%s too fast: %s has them below [%s]", counted(unseen, "call came", "calls came"), s.save.output, calls.NoStack)
	} else if unseen > 0 && s.tree.on() {
		s.say("%s too fast, and in (%s): the time of their callers without callees has theirs", counted(unseen, "call came", "calls came"), calls.NoStack)
	} else if unseen > 0 && s.by.Stack() {
		s.say("%s too fast, and in (%s)", counted(unseen, "call came", "calls came"), calls.NoStack)
	} else if unseen > 0 {
		s.say("%s not printed: there were too many at once", counted(unseen, "call was", "calls were"))
	}
	if untimed > 0 {
		s.say("%s no time: the kernel's table of open calls was full", counted(untimed, "call has", "calls have"))
	}
	if others > 0 {
		s.say("%s in (%s): there is room for %d keys", counted(others, "call is", "calls are"), calls.Others, perfevent.MostGroups)
	}
	if unsummed > 0 {
		s.say("%s in no sum: the number is not known, or is beyond 64 bits", counted(unsummed, "call is", "calls are"))
	}
	return all
}

// counted returns a number with its noun or verb.
func counted(n uint64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func (c *config) shown(n, all int) string {
	switch {
	case n == all:
		return ""
	case c.perProcess || c.by != nil && !c.save.implied:
		return fmt.Sprintf("%d of %d lines are shown, ", n, all)
	}
	return fmt.Sprintf("%d are shown, ", n)
}

// clear moves the cursor to the top of the terminal and clears it.
const clear = "\x1b[H\x1b[2J"

// printRows prints a table, which ends with an empty line if it has a head.
func (s *session) printRows(rows []row, length time.Duration, width int, head string) error {
	w := bufio.NewWriter(s.stdout)
	w.WriteString(head)
	anyOpen := slices.ContainsFunc(rows, func(r row) bool { return r.whole() && r.open() > 0 })
	line := fmt.Sprintf("%10s %9s %8s %8s %8s %8s %8s", "CALLS", "CALLS/S", "P50", "P90", "P99", "MAX", "TOTAL")
	if anyOpen {
		line += fmt.Sprintf(" %7s", "OPEN")
	}
	if s.sum != nil {
		line += fmt.Sprintf(" %15s %10s", "SUM", "MEAN")
	}
	names := s.nameWidth(rows)
	line += "  FUNCTION"
	if key := s.keyName(); key != "" {
		line = fmt.Sprintf("%s%*s  %s", line, names-len("FUNCTION"), "", strings.ToUpper(clean.Text(key)))
	}
	fmt.Fprintln(w, line)
	for i := range rows {
		r := &rows[i]
		line := fmt.Sprintf("%10d %9s", r.stats.Calls, r.rate(length))
		for _, q := range []float64{.5, .9, .99} {
			line += fmt.Sprintf(" %8s", r.time(calls.Quantile(&r.stats, q)))
		}
		line += fmt.Sprintf(" %8s %8s", r.time(r.stats.Max), r.time(r.stats.Sum))
		if anyOpen {
			line += fmt.Sprintf(" %7s", r.openText())
		}
		if s.sum != nil {
			line += fmt.Sprintf(" %15s %10s", r.total, r.mean())
		}
		name := clean.Text(r.target.Name)
		if key := clean.Text(r.key()); key != "" {
			name = fmt.Sprintf("%-*s  %s", names, fit.Cut(name, names), key)
		}
		name += r.partly(length)
		if width > 0 {
			name = fit.Cut(name, max(width-len(line)-2, 8))
		}
		fmt.Fprintln(w, line+"  "+name)
		if s.hist {
			writeHistogram(w, r)
		}
		s.writeStack(w, r)
	}
	if head != "" {
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// mostName is the width that names of functions are cut to, where keys are beside them.
const mostName = 40

// nameWidth returns the width of the column of functions.
func (s *session) nameWidth(rows []row) int {
	width := len("FUNCTION")
	for i := range rows {
		width = max(width, utf8.RuneCountInString(clean.Text(rows[i].target.Name)))
	}
	return min(width, mostName)
}

// writeStack prints the stack of a row that has one.
func (s *session) writeStack(w *bufio.Writer, r *row) {
	if r.Group == nil || !s.by.Stack() || r.Rest != calls.None {
		return
	}
	for i, f := range r.watch.Frames(r.Stack) {
		w.WriteString(frameText(i, &f))
	}
	w.WriteString(cutText(r.Cut))
}

// mean is the mean of the numbers that are summed.
func (r *row) mean() string {
	if r.stats.Amount.Calls == 0 {
		return "-"
	}
	return strconv.FormatFloat(r.stats.Amount.Mean(), 'f', 1, 64)
}

// time returns a time of calls, if their ends are seen and there are any.
func (r *row) time(d time.Duration) string {
	if !r.timed() || r.stats.Returned == 0 {
		return "-"
	}
	return duration(d)
}

func (r *row) openText() string {
	if !r.whole() {
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
