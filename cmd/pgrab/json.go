package main

import (
	"encoding/json"
	"strconv"
	"time"

	"ptools/internal/clean"
	"ptools/pctl"
)

// jsonLines prints one JSON object a line, for programs. Addresses are strings
// ("0x7f…"), since many readers keep no more than 53 bits of a number.
type jsonLines struct{ frames frames }

// object is the JSON form of every line. Fields that do not apply to the
// event are absent.
type object struct {
	Time    string `json:"time"`
	PID     int    `json:"pid,omitempty"`
	Event   string `json:"event"`
	TID     int    `json:"tid,omitempty"`
	Threads int    `json:"threads,omitempty"`
	Point   string `json:"point,omitempty"`
	Status  *int   `json:"status,omitempty"`
	Signal  int    `json:"signal,omitempty"`
	Core    bool   `json:"core,omitempty"`
	objectPlace
	Args      *string `json:"args,omitempty"` // of a hit, with --args
	Child     int     `json:"child,omitempty"`
	Parent    int     `json:"parent,omitempty"`
	Mode      string  `json:"mode,omitempty"`
	Reason    string  `json:"reason,omitempty"`
	Where     string  `json:"where,omitempty"`     // of a breakpoint's final count
	Processes int     `json:"processes,omitempty"` // number of processes with hits in a sum
	NotHit    int     `json:"not_hit,omitempty"`   // number of functions of a pattern that this stands for, without hits
	objectThread
}

// objectPlace is the part about an image, or a breakpoint and its hits.
type objectPlace struct {
	Symbol    string  `json:"symbol,omitempty"`
	Offset    uint64  `json:"offset,omitempty"`
	Addr      string  `json:"addr,omitempty"`
	Object    string  `json:"object,omitempty"`
	Namespace int     `json:"namespace,omitempty"`
	Hits      *uint64 `json:"hits,omitempty"`
	Late      bool    `json:"late,omitempty"`    // the thread has run on since the hit
	Skipped   uint64  `json:"skipped,omitempty"` // hits before this one that got no line
}

// objectThread is the part about the state of a thread.
type objectThread struct {
	Name     string        `json:"name,omitempty"` // of a thread
	State    string        `json:"state,omitempty"`
	Syscall  string        `json:"syscall,omitempty"`
	Stack    []objectFrame `json:"stack,omitempty"`
	Cut      string        `json:"cut,omitempty"` // why the stack is not whole
	Wait     *objectWait   `json:"wait,omitempty"`
	Deadlock []int         `json:"deadlock,omitempty"` // threads, each of which waits for the next
}

// objectFrame is a frame, innermost first; an inlined function precedes the
// one it was inlined into.
type objectFrame struct {
	PC      string `json:"pc"`
	Func    string `json:"func,omitempty"`
	Offset  uint64 `json:"offset,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Inlined bool   `json:"inlined,omitempty"`
	Object  string `json:"object,omitempty"`
	BuildID string `json:"build_id,omitempty"`
}

func (f jsonLines) event(b []byte, r *record) []byte {
	o := newObject(r)
	o.Skipped = r.skipped
	o.Threads, o.TID, o.Child, o.Parent = r.Threads, r.TID, r.Child, r.Parent
	o.Namespace = r.Namespace
	o.Mode = r.Mode
	if r.Point != 0 {
		o.Point = r.Point.String()
	}
	switch r.Kind {
	case pctl.KindExec, pctl.KindCreated:
		o.Object = r.Path
		if r.Err != nil {
			o.Reason = reason(r.Err)
		}
	case pctl.KindLoaded, pctl.KindUnloaded:
		o.Object, o.Addr = r.Path, hex(r.Base)
	case pctl.KindHit:
		o.Symbol, o.Offset, o.Object, o.Addr, o.Hits, o.Late = r.Symbol, r.Offset, r.Object, hex(r.Addr), &r.Hits, r.Late
		o.Args = r.args
	case pctl.KindBreakEnd:
		o.Symbol, o.Offset, o.Addr, o.Hits, o.Reason = r.Symbol, r.Offset, hex(r.Addr), &r.Hits, reason(r.Err)
	case pctl.KindBreakRefused:
		o.Symbol, o.Offset, o.Object, o.Reason = r.Symbol, r.Offset, r.Object, reason(r.Err)
		if r.Addr != 0 {
			o.Addr = hex(r.Addr)
		}
	case pctl.KindSignal, pctl.KindGroupStop:
		o.Signal = r.Signal
	case pctl.KindUndead:
		if r.Exited {
			o.Status = &r.Code
		}
		o.Signal, o.Core = r.Signal, r.Core
	case pctl.KindLost, pctl.KindUnfollowed:
		o.Reason = reason(r.Err)
	}
	if r.thread != nil {
		o.setStack(f.frames, r.thread)
	}
	return appendObjectLine(b, o)
}

// threads prints the threads at a rendezvous, each as an object. Its event is that of the rendezvous; tid distinguishes the two.
func (f jsonLines) threads(b []byte, r *record) []byte {
	for _, t := range r.threads {
		o := newObject(r)
		o.Event = pctl.KindStopped.String()
		o.Point = r.Point.String()
		o.TID = t.TID
		o.setStack(f.frames, t)
		o.Wait = newObjectWait(r.waits[t.TID])
		b = appendObjectLine(b, o)
	}
	return b
}

// deadlock prints threads that wait for each other.
func (jsonLines) deadlock(b []byte, r *record, cycle []int) []byte {
	o := newObject(r)
	o.Event, o.Deadlock = "deadlock", cycle
	return appendObjectLine(b, o)
}

func (jsonLines) counts(b []byte, rows []count) []byte {
	for _, row := range rows {
		o := &object{
			Time: stamp(time.Now()), PID: row.pid, Event: "breakpoint",
			Where: row.where.String(), objectPlace: objectPlace{Hits: &row.hits}, Processes: row.processes, NotHit: row.unhit,
		}
		o.Symbol, o.Object, o.Offset = row.function.symbol, row.function.object, row.function.offset
		if len(row.addrs) == 1 {
			o.Addr = hex(row.addrs[0])
		}
		b = appendObjectLine(b, o)
	}
	return b
}

func newObject(r *record) *object {
	return &object{Time: stamp(r.Time), PID: r.PID, Event: r.Kind.String()}
}

func (o *object) setStack(of frames, t *pctl.Thread) {
	o.Name, o.State = t.Name(), t.State.String()
	o.Syscall, _ = t.Syscall()
	stack, err := of(t)
	if o.Stack = objectFrames(stack); err != nil {
		o.Cut = err.Error()
	}
}

func objectFrames(frames []pctl.Frame) (all []objectFrame) {
	for _, f := range frames {
		all = append(all, objectFrame{
			PC: hex(f.PC), Func: f.Func, Offset: f.Offset, File: f.File, Line: f.Line,
			Inlined: f.Inlined, Object: f.Object, BuildID: f.BuildID,
		})
	}
	return all
}

// appendObjectLine encodes o. Encoding strings and numbers cannot fail.
func appendObjectLine(b []byte, o *object) []byte {
	line, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return append(append(b, clean.JSON(line)...), '\n')
}

func stamp(t time.Time) string { return t.Format(time.RFC3339Nano) }

func hex(addr uint64) string { return "0x" + strconv.FormatUint(addr, 16) }
