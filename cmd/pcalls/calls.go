package main

import (
	"bufio"
	"fmt"
	"time"

	"ptools/internal/calls"
	"ptools/internal/clean"
)

// jsonCall is a call in JSON.
type jsonCall struct {
	Slow   string      `json:"slow,omitempty"` // the function, with --slower
	Call   string      `json:"call,omitempty"` // the same without
	Raw    string      `json:"raw"`
	Object string      `json:"object"`
	PID    int         `json:"pid,omitempty"` // with --follow
	TID    int         `json:"tid"`
	Number uint64      `json:"goroutine,omitempty"`
	Length *int64      `json:"duration_ns,omitempty"` // absent: the end is not seen
	CPU    *int64      `json:"cpu_ns,omitempty"`      // absent: not known
	End    time.Time   `json:"end"`
	Tail   bool        `json:"tail_call,omitempty"`
	Args   *string     `json:"args,omitempty"`
	Result string      `json:"result,omitempty"`
	Stack  []jsonFrame `json:"stack,omitempty"`
	Cut    string      `json:"cut,omitempty"` // why the stack is not whole
}

// jsonFrame is a frame, the innermost first. An inlined function precedes that which it was inlined into.
type jsonFrame struct {
	PC       uint64 `json:"pc"`
	Function string `json:"function,omitempty"`
	Offset   uint64 `json:"offset"`
	Object   string `json:"object,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Inlined  bool   `json:"inlined,omitempty"`
}

// roomForCall is more than most calls take as text.
const roomForCall = 16 << 10

// printCalls prints the calls that were reported since the last time. It writes whole calls: a COMMAND may print between them.
func (s *session) printCalls() error {
	w := bufio.NewWriterSize(s.stdout, 4*roomForCall)
	var err error
	for _, p := range s.parts {
		p.watch.Reports(func(c *calls.Call) {
			if err == nil && w.Available() < roomForCall {
				err = w.Flush()
			}
			if err != nil {
				return
			}
			if s.json {
				err = writeJSON(w, s.jsonCall(c))
				return
			}
			_, err = w.WriteString(s.callText(c))
		})
	}
	if flushed := w.Flush(); err == nil {
		err = flushed
	}
	return err
}

// callText is a call as text: a line, and its stack.
func (s *session) callText(c *calls.Call) string {
	length := fmt.Sprintf("%8s", duration(c.Length))
	if c.Begun {
		length = fmt.Sprintf("%8s", "-")
	}
	if c.CPU >= 0 {
		length += fmt.Sprintf("  cpu %8s", duration(c.CPU))
	}
	text := clean.Text(c.Name)
	if s.detail.args {
		text += "(" + clean.Text(c.Args) + ")"
		if c.Result != "" {
			text += " = " + clean.Text(c.Result)
		}
	}
	thread := fmt.Sprintf("tid %-7d", c.TID)
	if s.follow {
		thread = fmt.Sprintf("pid %-7d ", c.PID) + thread
	}
	if c.Goroutine != 0 {
		thread += fmt.Sprintf(" goroutine %-6d", c.Goroutine)
	}
	text = fmt.Sprintf("%s  %s %s  %s\n", c.End.Format("15:04:05.000000"), thread, length, text)
	for i := range c.Stack {
		text += frameText(i, &c.Stack[i])
	}
	return text + cutText(c.Cut)
}

// cutText says why a stack is not whole.
func cutText(why string) string {
	if why == "" {
		return ""
	}
	return "    -- stack cut: " + clean.Text(why) + "\n"
}

// frameText is a frame as pgrab prints it.
func frameText(i int, f *calls.Frame) string {
	name := "?"
	if f.Func != "" {
		name = clean.Text(f.Func)
	}
	text := fmt.Sprintf("    #%-3d 0x%016x  %s", i, f.PC, name)
	if !f.Inlined && (f.Entry != 0 || f.Offset != 0) {
		text += fmt.Sprintf("+%#x", f.Offset)
	}
	if f.Object != "" {
		text += " in " + clean.Text(clean.Base(f.Object))
	}
	if f.File != "" {
		text += fmt.Sprintf(" at %s:%d", clean.Text(f.File), f.Line)
	}
	return text + "\n"
}

func (s *session) jsonCall(c *calls.Call) jsonCall {
	j := jsonCall{Raw: c.Raw, Object: c.Object, TID: c.TID, Number: c.Goroutine, End: c.End, Tail: c.Tail, Result: c.Result, Cut: c.Cut}
	if j.Call = c.Name; s.slower > 0 {
		j.Slow, j.Call = c.Name, ""
	}
	if n := int64(c.Length); !c.Begun {
		j.Length = &n
	}
	if n := int64(c.CPU); n >= 0 {
		j.CPU = &n
	}
	if s.detail.args {
		j.Args = &c.Args
	}
	if s.follow {
		j.PID = c.PID
	}
	j.Stack = jsonFrames(c.Stack)
	return j
}

func jsonFrames(frames []calls.Frame) (all []jsonFrame) {
	for _, f := range frames {
		all = append(all, jsonFrame{f.PC, f.Func, f.Offset, f.Object, f.File, f.Line, f.Inlined})
	}
	return all
}
