package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"ptools/internal/clean"
	"ptools/pctl"
)

// text prints lines for users; scripts may rely on them line by line.
type text struct {
	frames frames
	each   bool // threads with the same stack one by one
}

func (f text) event(b []byte, r *record) []byte {
	if r.skipped != 0 {
		b = fmt.Appendf(b, "pid %d: %s\n", r.PID, skippedHits(r.skipped))
	}
	b = append(append(b, line(r)...), '\n')
	if r.thread != nil {
		b = f.appendStack(b, r.thread)
	}
	return b
}

// skippedHits returns the text that says that hits have got no line.
func skippedHits(n uint64) string {
	return fmt.Sprintf("%d hits not printed: the output is slower than they come", n)
}

// what returns the text that follows the process in the line of an event.
func what(e pctl.Event) string {
	_, text, _ := strings.Cut(e.String(), ": ")
	return text
}

// deadlock prints threads that wait for each other.
func (text) deadlock(b []byte, r *record, cycle []int) []byte {
	b = fmt.Appendf(b, "pid %d: deadlock of %s:", r.PID, plural(len(cycle), "thread"))
	for i, tid := range cycle {
		if i > 0 {
			b = append(b, ';')
		}
		b = fmt.Appendf(b, " tid %d waits for %s", tid, r.waits[tid])
		if i := slices.IndexFunc(r.threads, func(t *pctl.Thread) bool { return t.TID == tid }); i >= 0 {
			b = append(b, waitsIn(r.threads[i])...)
		}
	}
	return append(b, '\n')
}

// waitsIn returns where a thread wants a lock: the function and the line, as far as they are
// known.
func waitsIn(t *pctl.Thread) string {
	f, ok := t.WaitsIn()
	switch {
	case !ok || f.Func == "":
		return ""
	case f.File == "":
		return ", in " + clean.Text(f.Func)
	}
	return fmt.Sprintf(", in %s at %s:%d", clean.Text(f.Func), clean.Text(clean.Base(f.File)), f.Line)
}

// appendStack prints frames as
//
//	#1  0x00007f2b4c0e1f30  start_thread+0x2f0 in libc.so.6 at pthread_create.c:442
//
// Frames of inlined functions have their caller's address. The line is there if
// frames finds it. If the function is unknown, ?+0x64af is the address in the
// file. A user with its debug information can look it up.
func (f text) appendStack(b []byte, t *pctl.Thread) []byte {
	frames, err := f.frames(t)
	b = appendFrames(b, frames, true)
	if err != nil {
		b = append(append(append(b, "    -- "...), clean.Text(err.Error())...), '\n')
	}
	return b
}

// appendFrames prints frames, with source lines or without.
func appendFrames(b []byte, frames []pctl.Frame, lines bool) []byte {
	for i, f := range frames {
		b = fmt.Appendf(b, "    #%-3d 0x%016x  ", i, f.PC)
		if f.Func == "" {
			b = append(b, '?')
		} else {
			b = append(b, clean.Text(f.Func)...)
		}
		if !f.Inlined && (f.Entry != 0 || f.Offset != 0) {
			b = fmt.Appendf(b, "+%#x", f.Offset)
		}
		if f.Object != "" {
			b = append(append(b, " in "...), clean.Text(clean.Base(f.Object))...)
		}
		if f.File != "" && lines {
			b = fmt.Appendf(b, " at %s:%d", clean.Text(f.File), f.Line)
		}
		b = append(b, '\n')
	}
	return b
}

// counts prints the table of breakpoints.
func (text) counts(b []byte, rows []count) []byte {
	var table appender = b
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "pid\thits\taddress\t  breakpoint\n")
	for _, row := range rows {
		addr := "-"
		if len(row.addrs) == 1 {
			addr = fmt.Sprintf("%#x", row.addrs[0])
		} else if len(row.addrs) > 1 {
			addr = plural(len(row.addrs), "place")
		}
		pid := strconv.Itoa(row.pid)
		if row.pid == 0 {
			pid = "all"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t  %s\n", pid, row.hits, addr, clean.Text(row.name()))
	}
	w.Flush()
	return table
}

// name returns what the hits of a row are of.
func (c *count) name() string {
	line, what := "", "function"
	if c.where.File != "" {
		line, what = c.where.String()+": ", "place"
	}
	switch f := c.function; {
	case c.unhit > 0:
		return c.where.String() + ": " + plural(c.unhit, what) + " not hit"
	case f == function{}:
		return c.where.String()
	case f.offset > 0:
		return fmt.Sprintf("%s%s+%#x in %s", line, f.symbol, f.offset, clean.Base(f.object))
	default:
		return line + f.symbol + " in " + clean.Base(f.object)
	}
}

// appender is a byte slice as an io.Writer.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// reason returns an error as one clause, fit for a terminal.
func reason(err error) string {
	if err == nil {
		return "unknown"
	}
	return clean.Text(err.Error())
}
