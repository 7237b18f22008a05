package main

import (
	"encoding/json"
	"time"

	"ptools/internal/clean"
	"ptools/pctl"
)

// goObject is the JSON form of a goroutine.
type goObject struct {
	Time      string `json:"time"`
	PID       int    `json:"pid"`
	Event     string `json:"event"` // goroutine
	Goroutine uint64 `json:"goroutine"`
	Runtime   string `json:"runtime,omitempty"` // that it belongs to, if there are several
	State     string `json:"state"`
	Waited    int64  `json:"waited_ns,omitempty"` // at least
	Left      int64  `json:"left_ns,omitempty"`   // of its sleep
	TID       int    `json:"tid,omitempty"`       // that runs it
	Locked    int    `json:"locked_tid,omitempty"`
	Bubble    uint64 `json:"bubble,omitempty"` // of testing/synctest
	goWaits
	Labels    map[string]string `json:"labels,omitempty"`
	Stack     []objectFrame     `json:"stack,omitempty"`
	Cut       string            `json:"cut,omitempty"` // why the stack is not whole
	CreatedBy []objectFrame     `json:"created_by,omitempty"`
	Parent    uint64            `json:"parent,omitempty"` // goroutine that created it
	Ancestors []goAncestor      `json:"ancestors,omitempty"`
	Elided    bool              `json:"ancestors_elided,omitempty"` // there are more
}

// goWaits is what a goroutine waits for.
type goWaits struct {
	Channels []string `json:"channels,omitempty"`
	Lock     *goLock  `json:"lock,omitempty"`
	FD       *int     `json:"fd,omitempty"`
	Write    bool     `json:"write,omitempty"`
}

// goAncestor is a goroutine that another one descends from.
type goAncestor struct {
	Goroutine uint64        `json:"goroutine"`
	Stack     []objectFrame `json:"stack,omitempty"`
	Elided    bool          `json:"stack_elided,omitempty"` // it was deeper
	CreatedBy []objectFrame `json:"created_by,omitempty"`
}

// goLock is a lock of package sync.
type goLock struct {
	Kind     string `json:"kind"`
	Addr     string `json:"addr"`
	Variable string `json:"variable,omitempty"`
	Offset   uint64 `json:"offset,omitempty"`
}

// objects prints goroutines as JSON lines.
func (g *grabber) objects(p *pctl.Process, all []*pctl.Goroutine) {
	var b []byte
	now := stamp(time.Now())
	for _, one := range all {
		o := &goObject{Time: now, PID: p.PID(), Event: "goroutine", Goroutine: one.ID, Runtime: one.Runtime, Bubble: one.Bubble, State: one.State, Waited: int64(one.Waited), Left: int64(one.Left),
			TID: one.Thread, Locked: one.Locked, Parent: one.Parent, CreatedBy: objectFrames(one.CreatedAt())}
		for _, c := range one.Channels {
			o.Channels = append(o.Channels, hex(c))
		}
		if one.Lock.Kind != "" {
			o.Lock = &goLock{Kind: one.Lock.Kind, Addr: hex(one.Lock.Addr)}
			o.Lock.Variable, o.Lock.Offset = one.Variable()
		}
		if one.Poll.Known {
			o.FD, o.Write = &one.Poll.FD, one.Poll.Write
		}
		for _, l := range one.Labels {
			if o.Labels == nil {
				o.Labels = make(map[string]string)
			}
			o.Labels[l.Key] = l.Value
		}
		ancestors, err := one.Ancestors()
		for _, a := range ancestors {
			o.Ancestors = append(o.Ancestors, goAncestor{a.ID, objectFrames(a.Stack), a.Cut, objectFrames(a.CreatedAt)})
		}
		o.Elided = err != nil
		frames, err := one.Stack()
		if o.Stack = objectFrames(frames); err != nil {
			o.Cut = err.Error()
		}
		line, err := json.Marshal(o)
		if err != nil {
			panic(err) // strings and numbers can be encoded
		}
		b = g.pieces(append(append(b, clean.JSON(line)...), '\n'), false)
	}
	g.pieces(b, true)
}
