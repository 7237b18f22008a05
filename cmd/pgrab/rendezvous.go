package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"ptools/pctl"
)

// rendezvous is called while every thread of the process stands still. It
// shows the stacks, sets the breakpoints if this is the first chance, waits
// as long as the user wants, and continues the process.
//
// Only the wait is bounded by ctx. If the time is over already, as with -t 0,
// the stacks must still be shown.
func (t *target) rendezvous(ctx context.Context, e pctl.Event) {
	stay := ctx
	ctx = context.WithoutCancel(ctx)
	if t.planted == nil {
		t.plant(ctx)
	}
	if e.Point != 0 && !slices.Contains(t.stop, e.Point) {
		t.silent = true // a stop of our own, only for the breakpoints
		t.leave(ctx, stay)
		return
	}
	r := &record{Event: e}
	if t.first != nil {
		r.Event, r.Point, t.first = *t.first, e.Point, nil
	}
	if t.options.stacks != noStacks {
		r.threads = t.capture(ctx)
	}
	short := t.hold == 0 || stay.Err() != nil
	switch {
	case !short:
		t.print(r)
		t.stay(stay)
	case t.job != nil:
		t.print(r)
		t.shown(stay)
	}
	t.leave(ctx, stay)
	if short && t.job == nil {
		t.print(r) // the frames are not named before the process runs again
	}
}

// shown returns when everything printed has been written, so that it precedes
// the output of a command with the same standard output.
func (t *target) shown(ctx context.Context) {
	written := make(chan struct{})
	t.out.then(func() { close(written) })
	select {
	case <-written:
	case <-ctx.Done():
	case <-t.p.Done():
	}
}

// capture copies every thread's registers and stack.
func (t *target) capture(ctx context.Context) (threads []*pctl.Thread) {
	err := t.p.Pause(ctx, func(s *pctl.Snapshot) error {
		s.CopyStacks()
		threads = s.Threads()
		return nil
	})
	slices.SortFunc(threads, func(a, b *pctl.Thread) int { return a.TID - b.TID })
	if err != nil && !over(err) {
		t.complain(err)
	}
	return threads
}

// stay returns when the hold is over: by its time, a line of input, our own
// end, or the end of the process.
func (t *target) stay(ctx context.Context) {
	var expired <-chan time.Time
	var line <-chan struct{}
	if t.hold >= 0 {
		timer := time.NewTimer(t.hold)
		defer timer.Stop()
		expired = timer.C
	} else {
		line = t.prompt.line()
		if t.interactive {
			t.out.then(func() { t.note("held; Enter continues it") })
		}
	}
	select {
	case <-expired:
	case <-line:
	case <-ctx.Done():
	case <-t.p.Done():
	}
}

// leave continues the process, or lets it go at the rendezvous if our time is
// over.
func (t *target) leave(ctx, stay context.Context) {
	next := t.p.Continue
	if stay.Err() != nil {
		next = t.p.Release
	}
	if err := next(ctx); err != nil && !over(err) {
		t.complain(err)
	}
}

// over reports whether err says that a process has ended or was let go
// meanwhile. Its last event reports that.
func over(err error) bool {
	return errors.Is(err, pctl.ErrEnded) || errors.Is(err, pctl.ErrReleased)
}
