package pctl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ptools/internal/clean"
	"ptools/pctl/notify"
)

// Event is something that happened to a process. Time, PID and Kind are always set;
// each Kind says which other fields are set; the rest are zero. Paths and symbols are the
// target's own bytes: String makes them fit for a terminal.
type Event struct {
	Time time.Time
	PID  int
	TID  int // the thread concerned
	Kind Kind

	Threads int   // KindGrabbed, KindCreated, KindFollowed, KindStopped: number of threads; KindReleased: number of those that stop only when they wake
	Point   Point // KindStopped: where

	Exited bool // KindUndead: by exit, with Code; otherwise by Signal
	Code   int  // KindUndead, KindThreadExit: exit status
	Signal int  // KindUndead, KindThreadExit, KindGroupStop: by which; KindSignal, KindGroupContinue: which
	Core   bool // KindUndead: a core was dumped

	Path      string // KindCreated, KindExec, KindLoaded, KindUnloaded: of the image
	Base      uint64 // KindLoaded, KindUnloaded: its load bias (l_addr)
	Namespace int    // KindLoaded, KindUnloaded: of the run-time linker; 0 is the main one

	Addr   uint64 // KindHit, KindBreakEnd, KindBreakRefused: of the breakpoint; 0: refused in an Object that could not be read
	Symbol string // KindHit, KindBreakEnd, KindBreakRefused: function around it, if it was set by symbol
	Offset uint64 // KindHit, KindBreakEnd, KindBreakRefused: of Addr in Symbol
	Object string // KindHit, KindBreakRefused: file name of the object around it
	Hits   uint64 // KindHit, KindBreakEnd: of this breakpoint so far, this one included
	Late   bool   // KindHit: the thread has run on since and stands elsewhere

	Attached any // KindHit: what the Handler of the breakpoint gave to Hit.Attach; nil: nothing

	Call *Call // KindCall

	Child  int    // KindFork, KindVfork, KindUnfollowed: its PID; KindThreadStart: its TID
	Parent int    // KindFollowed: PID of the process that it follows
	Mode   string // KindReleased: "running", "killed", "stopped"
	Err    error  // KindLost, KindBreakEnd, KindBreakRefused, KindUnfollowed: why; KindExec, KindCreated: what the program lacks, since it is traced
}

// eventOf is an event as control has published it.
func eventOf(e notify.Event) Event {
	return Event{
		Time: e.Time, PID: e.PID, TID: e.TID, Kind: Kind(e.Kind),
		Threads: e.Threads, Point: Point(e.Point),
		Exited: e.Exited, Code: e.Code, Signal: e.Signal, Core: e.Core,
		Path: e.Path, Base: e.Base, Namespace: e.Namespace,
		Addr: e.Addr, Symbol: e.Symbol, Offset: e.Offset, Object: e.Object, Hits: e.Hits, Late: e.Late, Attached: e.Attached,
		Child: e.Child, Parent: e.Parent, Mode: e.Mode, Err: e.Err,
	}
}

// String returns the event in one line, as pgrab prints it: "pid 4242: stopped at main".
// Text of the target is escaped where it could move a terminal's cursor or end the line.
func (e Event) String() string { return string(e.append(fmt.Appendf(nil, "pid %d: ", e.PID))) }

// append appends what follows the process.
func (e *Event) append(b []byte) []byte {
	switch e.Kind {
	case KindGrabbed:
		return e.appendStopped(fmt.Appendf(b, "grabbed (%s)", threads(e.Threads)), ", ")
	case KindFollowed:
		return e.appendStopped(fmt.Appendf(b, "followed, child of pid %d (%s)", e.Parent, threads(e.Threads)), ", ")
	case KindUnfollowed:
		return append(fmt.Appendf(b, "pid %d not followed: ", e.Child), reason(e.Err)...)
	case KindCreated:
		return e.appendStopped(e.appendProgram(append(b, "created "...)), ", ")
	case KindStopped:
		return e.appendStopped(b, "")
	case KindContinued:
		return append(b, "continued"...)
	case KindExec:
		return e.appendProgram(append(b, "exec "...))
	case KindFork:
		return fmt.Appendf(b, "forked pid %d", e.Child)
	case KindVfork:
		return fmt.Appendf(b, "vforked pid %d", e.Child)
	case KindThreadStart:
		return fmt.Appendf(b, "tid %d started", e.TID)
	case KindThreadExit:
		return fmt.Appendf(b, "tid %d ended", e.TID)
	case KindLoaded:
		return e.appendObject(append(b, "loaded "...))
	case KindUnloaded:
		return e.appendObject(append(b, "unloaded "...))
	case KindHit:
		return e.appendHit(b)
	case KindBreakEnd:
		return fmt.Appendf(e.appendPlace(append(b, "breakpoint "...)), " ended: %s", reason(e.Err))
	case KindSignal:
		return fmt.Appendf(b, "tid %d received signal %s", e.TID, signalName(e.Signal))
	case KindGroupStop:
		return fmt.Appendf(b, "stopped by signal %s", signalName(e.Signal))
	case KindGroupContinue:
		return append(b, "continued by a signal"...)
	case KindBreakRefused:
		done := "not set"
		if errors.Is(e.Err, ErrLate) {
			done = "set late"
		}
		b = fmt.Appendf(b, "breakpoint %s %s", clean.Text(e.Symbol), done)
		if e.Addr != 0 {
			b = fmt.Appendf(b, " at %#x", e.Addr)
		}
		return append(append(e.appendIn(b), ": "...), reason(e.Err)...)
	case KindUndead:
		return e.appendEnd(b)
	case KindLost:
		return append(append(b, "lost: "...), reason(e.Err)...)
	case KindCall:
		return e.appendCall(b)
	case KindReleased:
		return e.appendReleased(b)
	}
	return append(b, e.Kind.String()...)
}

func (e *Event) appendStopped(b []byte, before string) []byte {
	if e.Point == 0 {
		return b
	}
	return append(append(append(b, before...), "stopped at "...), e.Point.String()...)
}

// appendProgram appends what was executed, and what it lacks.
func (e *Event) appendProgram(b []byte) []byte {
	b = append(b, clean.Text(e.Path)...)
	if e.Err != nil {
		b = append(append(b, ", "...), reason(e.Err)...)
	}
	return b
}

func (e *Event) appendObject(b []byte) []byte {
	b = append(b, clean.Text(e.Path)...)
	if e.Namespace != 0 {
		b = fmt.Appendf(b, " (namespace %d)", e.Namespace)
	}
	return b
}

func (e *Event) appendHit(b []byte) []byte {
	b = e.appendIn(e.appendPlace(fmt.Appendf(b, "tid %d hit ", e.TID)))
	late := ""
	if e.Late {
		late = ", late"
	}
	return fmt.Appendf(b, " (hit %d%s)", e.Hits, late)
}

// appendPlace appends where a breakpoint is.
func (e *Event) appendPlace(b []byte) []byte {
	if e.Symbol == "" {
		return fmt.Appendf(b, "%#x", e.Addr)
	}
	b = append(append(b, clean.Text(e.Symbol)...), '+')
	return strconv.AppendUint(b, e.Offset, 10)
}

func (e *Event) appendIn(b []byte) []byte {
	if e.Object == "" {
		return b
	}
	return append(append(b, " in "...), clean.Text(clean.Base(e.Object))...)
}

func (e *Event) appendEnd(b []byte) []byte {
	switch {
	case e.Exited:
		return fmt.Appendf(b, "exited with status %d", e.Code)
	case e.Signal == 0:
		return append(b, "ended, status unknown"...)
	}
	b = append(append(b, "killed by signal "...), signalName(e.Signal)...)
	if e.Core {
		b = append(b, ", core dumped"...)
	}
	return b
}

func (e *Event) appendReleased(b []byte) []byte {
	b = append(append(b, "released, "...), e.Mode...)
	switch {
	case e.Threads == 1:
		b = append(b, " (1 thread when it wakes)"...)
	case e.Threads > 1:
		b = fmt.Appendf(b, " (%d threads when they wake)", e.Threads)
	}
	return b
}

func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return strconv.Itoa(n) + " threads"
}

// signalName is a signal's number and description: "9 (killed)".
func signalName(sig int) string {
	name, _, _ := strings.Cut(syscall.Signal(sig).String(), " (") // of SIGSTOP "stopped (signal)"
	return fmt.Sprintf("%d (%s)", sig, name)
}

// reason is an error as one clean clause.
func reason(err error) string {
	if err == nil {
		return "unknown"
	}
	return clean.Text(err.Error())
}
