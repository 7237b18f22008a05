package pctl

import (
	"fmt"
	"strings"
	"time"

	"ptools/internal/calls"
	"ptools/internal/clean"
)

// Call is a call of a function.
type Call struct {
	*CalledFunction
	// Goroutine is the number of the goroutine that has made it; 0: it is no call of a Go function, or the number is not known.
	Goroutine uint64
	Duration  time.Duration // waiting included
	// CPU is how much of Duration the thread was on processors; less than 0: not known, as of a call of Go, which may move between threads.
	CPU time.Duration
	// Begun: its end is not seen (CalledFunction.NoEnds). It has just begun, and has no duration and no results.
	Begun bool
	// Tail: it ended by a jump to another function, which returns in its place. Its results are not known.
	Tail    bool
	Args    []Value // with CallSpec.Args
	Results []Value // the same
	Stack   []Frame // with CallSpec.Where
	Cut     string  // why the stack is not whole
}

// Value is an argument or a result of a call. Without debug information there are the six words that integers would be in.
type Value struct {
	Name string // of an argument; empty if it has none, and of results
	Type string // as debug information names it; empty: not known
	Text string // as pcalls prints it; "?": not known
	// V is a number, a bool or a text: an int64, uint64, float64, bool or string; the uint64 of a pointer, or of a word without a type. Of a
	// text it has the first 64 bytes; Text ends with "…" if there are more. Nil: not known, or anything else.
	V any
}

// event makes the event of a call.
func (c *Calls) event(k *calls.Call) Event {
	call := &Call{
		CalledFunction: c.of[k.Target], Goroutine: k.Goroutine, Duration: k.Length, CPU: k.CPU, Begun: k.Begun, Tail: k.Tail, Args: valuesOf(k.Arguments), Results: valuesOf(k.Results), Cut: k.Cut,
	}
	if c.spec.Stack {
		call.Stack = framesOf(k.Stack)
	}
	return Event{Time: k.End, PID: k.PID, TID: k.TID, Kind: KindCall, Call: call}
}

func valuesOf(list []calls.Value) []Value {
	if list == nil {
		return nil
	}
	values := make([]Value, len(list))
	for i, v := range list {
		values[i] = Value(v)
	}
	return values
}

// String returns the call in one line: "write(0x1, 0x7ffd…, 0x5) = 0x5". It is fit for a terminal.
func (c *Call) String() string {
	text := c.Name
	if c.Args != nil {
		text += "(" + ArgsText(c.Args) + ")"
	}
	switch len(c.Results) {
	case 0:
	case 1:
		text += " = " + c.Results[0].Text
	default:
		texts := make([]string, len(c.Results))
		for i, v := range c.Results {
			texts[i] = v.Text
		}
		text += " = (" + strings.Join(texts, ", ") + ")"
	}
	return clean.Text(text)
}

// appendCall appends what KindCall says.
func (e *Event) appendCall(b []byte) []byte {
	switch {
	case e.Call == nil:
		return append(b, e.Kind.String()...)
	case e.Call.Begun:
		return fmt.Appendf(b, "tid %d calls %s", e.TID, e.Call)
	}
	return fmt.Appendf(b, "tid %d called %s in %v", e.TID, e.Call, e.Call.Duration)
}
