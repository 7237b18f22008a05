package main

import (
	"fmt"
	"strconv"
	"syscall"
	"text/tabwriter"

	"ptools/pctl"
)

// text prints lines for people; scripts may rely on them line by line.
type text struct{ frames frames }

func (f text) event(b []byte, r *record) []byte {
	if r.skipped != 0 {
		b = fmt.Appendf(b, "pid %d: %s\n", r.PID, skippedHits(r.skipped))
	}
	n := len(b)
	b = fmt.Appendf(b, "pid %d: ", r.PID)
	start := len(b)
	b = appendEvent(b, r)
	if len(b) == start {
		return b[:n] // nothing to say about this kind
	}
	b = append(b, '\n')
	if r.thread != nil {
		b = f.appendStack(b, r.thread)
	}
	return b
}

// skippedHits says that hits have got no line.
func skippedHits(n uint64) string {
	return fmt.Sprintf("%d hits not printed: the output is slower than they come", n)
}

// appendEvent appends what follows the process id.
func appendEvent(b []byte, r *record) []byte {
	switch r.Kind {
	case pctl.KindGrabbed:
		b = fmt.Appendf(b, "grabbed (%s)", plural(r.Threads, "thread"))
		return appendStopped(b, ", stopped at ", r.Point)
	case pctl.KindCreated:
		b = appendProgram(append(b, "created "...), r)
		return appendStopped(b, ", stopped at ", r.Point)
	case pctl.KindStopped:
		return appendStopped(b, "stopped at ", r.Point)
	case pctl.KindContinued:
		return append(b, "continued"...)
	case pctl.KindExec:
		return appendProgram(append(b, "exec "...), r)
	case pctl.KindFork:
		return fmt.Appendf(b, "forked pid %d", r.Child)
	case pctl.KindVfork:
		return fmt.Appendf(b, "vforked pid %d", r.Child)
	case pctl.KindThreadStart:
		return fmt.Appendf(b, "tid %d started", r.TID)
	case pctl.KindThreadExit:
		return fmt.Appendf(b, "tid %d ended", r.TID)
	case pctl.KindLoaded:
		return appendObject(append(b, "loaded "...), r)
	case pctl.KindUnloaded:
		return appendObject(append(b, "unloaded "...), r)
	case pctl.KindHit:
		return appendHit(b, r)
	case pctl.KindBreakEnd:
		return fmt.Appendf(appendPlace(append(b, "breakpoint "...), r), " ended: %s", reason(r.Err))
	case pctl.KindSignal:
		return fmt.Appendf(b, "tid %d received signal %s", r.TID, signalName(r.Signal))
	case pctl.KindGroupStop:
		return fmt.Appendf(b, "stopped by signal %s", signalName(r.Signal))
	case pctl.KindGroupContinue:
		return append(b, "continued by a signal"...)
	case pctl.KindBreakRefused:
		return appendRefused(b, r)
	case pctl.KindUndead:
		return appendUndead(b, r)
	case pctl.KindLost:
		return append(append(b, "lost: "...), reason(r.Err)...)
	case pctl.KindReleased:
		b = append(append(b, "released, "...), r.Mode...)
		switch {
		case r.Threads == 1:
			b = append(b, " (1 thread when it wakes)"...)
		case r.Threads > 1:
			b = fmt.Appendf(b, " (%d threads when they wake)", r.Threads)
		}
		return b
	}
	return b
}

func appendStopped(b []byte, before string, p pctl.Point) []byte {
	if p == 0 {
		return b
	}
	return append(append(b, before...), p.String()...)
}

// appendProgram appends what was executed, and what it lacks.
func appendProgram(b []byte, r *record) []byte {
	b = append(b, clean(r.Path)...)
	if r.Err != nil {
		b = append(append(b, ", "...), reason(r.Err)...)
	}
	return b
}

func appendObject(b []byte, r *record) []byte {
	b = append(b, clean(r.Path)...)
	if r.Namespace != 0 {
		b = fmt.Appendf(b, " (namespace %d)", r.Namespace)
	}
	return b
}

func appendHit(b []byte, r *record) []byte {
	b = appendPlace(fmt.Appendf(b, "tid %d hit ", r.TID), r)
	if r.Object != "" {
		b = append(append(b, " in "...), clean(base(r.Object))...)
	}
	late := ""
	if r.Late {
		late = ", late"
	}
	return fmt.Appendf(b, " (hit %d%s)", r.Hits, late)
}

// appendPlace appends where a breakpoint is.
func appendPlace(b []byte, r *record) []byte {
	if r.Symbol == "" {
		return fmt.Appendf(b, "%#x", r.Addr)
	}
	b = append(append(b, clean(r.Symbol)...), '+')
	return strconv.AppendUint(b, r.Offset, 10)
}

func appendRefused(b []byte, r *record) []byte {
	b = fmt.Appendf(b, "breakpoint %s not set", clean(r.Symbol))
	if r.Addr != 0 {
		b = fmt.Appendf(b, " at %#x", r.Addr)
	}
	if r.Object != "" {
		b = append(append(b, " in "...), clean(base(r.Object))...)
	}
	return append(append(b, ": "...), reason(r.Err)...)
}

func appendUndead(b []byte, r *record) []byte {
	switch {
	case r.Exited:
		return fmt.Appendf(b, "undead: exited with status %d", r.Code)
	case r.Signal == 0:
		return append(b, "undead: status unknown"...)
	}
	b = append(append(b, "undead: killed by signal "...), signalName(r.Signal)...)
	if r.Core {
		b = append(b, ", core dumped"...)
	}
	return b
}

// thread prints a thread's name and state, and its stack below.
func (f text) thread(b []byte, r *record, t *pctl.Thread) []byte {
	b = fmt.Appendf(b, "pid %d: tid %d (%s) %s\n", r.PID, t.TID, clean(t.Name()), doing(t))
	return f.appendStack(b, t)
}

// doing is a thread's state: "running", "in futex", "uninterruptible".
func doing(t *pctl.Thread) string {
	if call, ok := t.Syscall(); ok {
		return "in " + call
	}
	return t.State.String()
}

// appendStack prints frames as
//
//	#1  0x00007f2b4c0e1f30  start_thread+0x2f0 in libc.so.6 at pthread_create.c:442
//
// Frames of inlined functions have their caller's address. The line is there if
// frames finds it. Where the function is unknown, ?+0x64af is the address in the
// file, which whoever has its debug information can look up.
func (f text) appendStack(b []byte, t *pctl.Thread) []byte {
	frames, err := f.frames(t)
	for i, f := range frames {
		b = fmt.Appendf(b, "    #%-3d 0x%016x  ", i, f.PC)
		if f.Func == "" {
			b = append(b, '?')
		} else {
			b = append(b, clean(f.Func)...)
		}
		if !f.Inlined && (f.Func != "" || f.Offset != 0) {
			b = fmt.Appendf(b, "+%#x", f.Offset)
		}
		if f.Object != "" {
			b = append(append(b, " in "...), clean(base(f.Object))...)
		}
		if f.File != "" {
			b = fmt.Appendf(b, " at %s:%d", clean(f.File), f.Line)
		}
		b = append(b, '\n')
	}
	if err != nil {
		b = append(append(append(b, "    -- "...), clean(err.Error())...), '\n')
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
		fmt.Fprintf(w, "%d\t%d\t%s\t  %s\n", row.pid, row.hits, addr, clean(row.where.String()))
	}
	w.Flush()
	return table
}

// appender is a byte slice as an io.Writer.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}

// signalName is a signal's number and description: "9 (killed)".
func signalName(sig int) string {
	return fmt.Sprintf("%d (%s)", sig, syscall.Signal(sig))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// base is the last element of a path inside the target.
func base(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}

// reason is an error as one clean clause.
func reason(err error) string {
	if err == nil {
		return "unknown"
	}
	return clean(err.Error())
}
