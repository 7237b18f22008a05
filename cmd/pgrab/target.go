package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"ptools/pctl"
)

// target is one process while we have it. Its watch loop runs on one
// goroutine; only hits come from another, the process's control goroutine.
type target struct {
	*grabber
	p       *pctl.Process
	events  *pctl.Events
	planted []*pctl.Breakpoint
	first   *pctl.Event // grabbed or created, until it is known whether it stopped
	silent  bool        // the next continued event is of a stop that was not asked for
	skipped uint64      // hits since the last that was printed
	failed  bool        // something has been complained about

	killRisk pctl.KillRisk         // that the user knows of
	places   map[uint64]pctl.Frame // what stands at addresses that were hit
}

// newTarget opens the stream of events, before anything is done that causes
// some. It is watch that closes it, and p.
func newTarget(g *grabber, p *pctl.Process) *target {
	return &target{
		grabber: g, p: p, events: p.Events(&pctl.EventOptions{Kinds: g.kinds()}),
		places: make(map[uint64]pctl.Frame),
	}
}

// kinds are the events that this run needs: those it prints and those it acts
// upon.
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
	if len(o.breaks) != 0 && (o.showsEvents() || o.stacks) {
		k = append(k, pctl.KindHit)
	}
	if len(o.breaks) != 0 {
		// Breakpoints may come with these (tellKillRisk), and not come, and end.
		k = append(k, pctl.KindExec, pctl.KindLoaded, pctl.KindBreakRefused, pctl.KindBreakEnd)
	}
	return k
}

// watch prints what happens to the process and acts at its rendezvous, until
// it ends, control of it is lost, the time is over or ctx ends; then it lets
// go. It returns how it ended.
func (t *target) watch(ctx context.Context) (end pctl.Event, err error) {
	defer t.p.Close()
	defer t.out.named() // the names of frames come from the process
	if t.limit >= 0 && t.tree == nil {
		limited, cancel := context.WithTimeout(ctx, t.limit)
		defer cancel()
		ctx = limited
	}
	for {
		t.tellKillRisk()
		if _, held := t.p.Held(); !held && ctx.Err() != nil {
			// The rest, and how it ended, is still to come. This is not left
			// to Next, which finds an event as long as there are any. From a
			// rendezvous it is let go when that has been shown.
			ctx = context.WithoutCancel(ctx)
			if t.tree != nil {
				t.session.Leave()
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

// event does what one event asks for.
func (t *target) event(ctx context.Context, e pctl.Event) {
	if t.first != nil && e.Kind != pctl.KindStopped { // it ended before it could stop
		t.print(&record{Event: *t.first})
		t.first = nil
	}
	switch {
	case t.stopFollows(e):
		t.first = &e // its line will also say where it stopped
	case e.Kind == pctl.KindStopped:
		t.rendezvous(ctx, e)
	case e.Kind == pctl.KindHit:
		t.hit(e)
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
// stop that comes next.
func (t *target) stopFollows(e pctl.Event) bool {
	return t.form == formText && (e.Kind == pctl.KindGrabbed && slices.Contains(t.stop, pctl.PointGrab) ||
		e.Kind == pctl.KindCreated && slices.Contains(t.stop, pctl.PointCreate))
}

// print queues a record, unless it is a mere event line and those are not
// wanted.
func (t *target) print(r *record) {
	if t.showsEvents() || r.threads != nil || r.thread != nil {
		r.skipped, t.skipped = t.skipped, 0
		t.out.put(r)
	}
}
