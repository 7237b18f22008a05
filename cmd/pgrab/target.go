package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"ptools/pctl"
)

// target is one grabbed process. Its watch loop runs on one goroutine. Only
// hits come from another, the process's control goroutine.
type target struct {
	*grabber
	p       *pctl.Process
	events  *pctl.Events
	planted []*pctl.Breakpoint
	first   *pctl.Event  // the event grabbed or created, until it is known whether a stop follows
	silent  bool         // the next continued event belongs to a stop that was not asked for
	skipped uint64       // hits since the last that was printed
	failed  bool         // an error has been printed
	ahead   []pctl.Point // stop points that the program has not reached

	killRisk pctl.KillRisk         // as last shown to the user
	places   map[uint64]pctl.Frame // functions at addresses that were hit
}

// newTarget opens the stream of events, before anything causes events. watch
// closes the stream and p.
func newTarget(g *grabber, p *pctl.Process) *target {
	return &target{
		grabber: g, p: p, events: p.Events(&pctl.EventOptions{Kinds: g.kinds()}),
		places: make(map[uint64]pctl.Frame),
	}
}

// kinds returns the kinds of events that this run prints or acts upon.
func (o *options) kinds() []pctl.Kind {
	k := []pctl.Kind{pctl.KindGrabbed, pctl.KindCreated, pctl.KindStopped}
	if o.showsEvents() {
		k = append(k, pctl.KindContinued, pctl.KindExec, pctl.KindFork, pctl.KindVfork, pctl.KindLoaded, pctl.KindUnloaded,
			pctl.KindGroupStop, pctl.KindGroupContinue)
	}
	if o.follow {
		k = append(k, pctl.KindFollowed, pctl.KindUnfollowed)
	}
	if o.detail == detailAll {
		k = append(k, pctl.KindThreadStart, pctl.KindThreadExit, pctl.KindSignal)
	}
	if o.wantsHits() {
		k = append(k, pctl.KindHit)
	}
	if len(o.breaks) != 0 {
		// With these events breakpoints may be set (tellKillRisk), refused, and
		// lost.
		k = append(k, pctl.KindExec, pctl.KindLoaded, pctl.KindBreakRefused, pctl.KindBreakEnd)
	}
	return k
}

// watch prints what happens to the process and acts at its rendezvous. It
// lets the process go when the time is over or ctx ends. It returns, with the
// last event, when the process has ended, was let go, or control of it was
// lost.
func (t *target) watch(ctx context.Context) (end pctl.Event, err error) {
	defer t.p.Close()
	defer t.out.named() // the names of frames come from the process
	if t.limit >= 0 && t.tree == nil {
		limited, cancel := context.WithTimeout(ctx, t.limit)
		defer cancel()
		ctx = limited
	}
	if pctl.ChecksLeaks(t.p) && t.tree.isNews(leakCheck) {
		t.note(leakCheck)
	}
	for {
		t.tellKillRisk()
		if _, held := t.p.Held(); !held && ctx.Err() != nil {
			// The rest of the events, with the last one, is still to come.
			// Release is not left until Next returns an error: Next returns
			// events as long as there are any. At a rendezvous the process is
			// let go when the rendezvous has been shown.
			ctx = context.WithoutCancel(ctx)
			if t.tree != nil {
				t.session.Leave()
			}
			if pctl.DumpsCore(t.p) {
				t.note("it is dumping core: its threads could not be stopped, and it ends when that is over")
			}
			if err := t.p.Release(ctx); err != nil {
				return end, err
			}
		}
		e, err := t.events.Next(ctx)
		switch {
		case err == nil:
			end = e
			t.event(ctx, e)
		case errors.Is(err, io.EOF):
			t.count()
			t.tellAhead()
			if t.skipped != 0 { // and nothing was printed after them
				t.note(skippedHits(t.skipped))
			}
			if t.failed {
				return end, status(1)
			}
			return end, nil
		case ctx.Err() == nil:
			return end, err
		}
	}
}

// leakCheck is what happens to a process with LeakSanitizer.
const leakCheck = "it has LeakSanitizer, which fails at its exit while it is traced: no report, and a status other than 0, unless LSAN_OPTIONS has detect_leaks=0"

// event handles one event.
func (t *target) event(ctx context.Context, e pctl.Event) {
	t.pastPoint(e)
	if t.first != nil && e.Kind != pctl.KindStopped { // the process ended before it could stop
		t.print(&record{Event: *t.first})
		t.first = nil
	}
	switch {
	case t.stopFollows(e):
		t.first = &e // its line will also say where the process stopped
	case e.Kind == pctl.KindStopped:
		t.rendezvous(ctx, e)
	case e.Kind == pctl.KindHit:
		t.hit(ctx, e)
	case e.Kind == pctl.KindBreakEnd:
		t.lacks(e)
	case e.Kind == pctl.KindBreakRefused, e.Kind == pctl.KindUnfollowed:
		t.lacks(e)
	case e.Kind == pctl.KindContinued && t.silent:
		t.silent = false
	default:
		t.print(&record{Event: e})
	}
}

// stopFollows reports whether e is the first event and shares a line with the
// following stop.
func (t *target) stopFollows(e pctl.Event) bool {
	return t.form == formText && (e.Kind == pctl.KindGrabbed && slices.Contains(t.stop, pctl.PointGrab) ||
		e.Kind == pctl.KindCreated && slices.Contains(t.stop, pctl.PointCreate))
}

// print queues a record, unless it is only a line of an event and those are
// not wanted.
func (t *target) print(r *record) {
	if t.showsEvents() || r.threads != nil || r.thread != nil {
		r.skipped, t.skipped = t.skipped, 0
		t.out.put(r)
	}
}
