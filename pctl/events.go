package pctl

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
	"sync"
	"time"

	"ptools/pctl/notify"
)

// EventOptions of Process.Events. Nil means the zero value.
type EventOptions struct {
	// Kinds are the kinds of events to deliver; none: all. The end is always delivered.
	Kinds []Kind
}

// Events is a stream of what happens to a process. It queues events that have
// not been read yet, without limit: close it when it is read no more. One
// goroutine may call Next at a time.
type Events struct {
	p     *Process
	first []Event              // the state when the stream was opened; it precedes what sub delivers
	sub   *notify.Subscription // nil for a process grabbed read-only
	ended bool                 // of the latter: its end was delivered
	done  chan struct{}        // closed by Close
	shut  func()               // does what Close does to the stream, once
}

// Events opens a stream of the process's events. It begins with the present state: KindGrabbed, KindCreated or
// KindFollowed; then KindStopped if the process is held at a rendezvous; then KindGroupStop if it is stopped from
// outside. Those of these kinds that were not asked for are left out. What happens from then on follows in order. A
// process that was grabbed read-only has one event, its end, with an unknown status.
func (p *Process) Events(o *EventOptions) *Events {
	kinds := wanted(o)
	e := &Events{p: p, done: make(chan struct{})}
	e.shut = sync.OnceFunc(func() {
		close(e.done)
		if e.sub != nil {
			e.sub.Close()
		}
	})
	if p.c != nil && !p.readOnly {
		open := func() {
			e.first = p.present(kinds)
			e.sub = p.c.Bus().Subscribe(kinds...)
		}
		follow := func() {
			open()
			if slices.Contains(kinds, notify.Hit) {
				p.c.FollowHits()
			}
		}
		// On the control goroutine nothing happens in between. If that
		// goroutine has ended, nothing happens any more.
		if p.c.OnControl() {
			follow()
		} else if err := p.c.Do(context.Background(), follow); err != nil {
			open()
		}
	}
	p.mu.Lock()
	closed := p.closed
	if !closed {
		if p.streams == nil {
			p.streams = make(map[*Events]struct{})
		}
		p.streams[e] = struct{}{}
	}
	p.mu.Unlock()
	if closed {
		e.Close()
	}
	return e
}

// wanted are the kinds that are asked for.
func wanted(o *EventOptions) (kinds []notify.Kind) {
	if o != nil && len(o.Kinds) > 0 {
		for _, k := range o.Kinds {
			kinds = append(kinds, notify.Kind(k))
		}
		return kinds
	}
	for k := notify.Grabbed; k <= notify.Released; k++ {
		kinds = append(kinds, k)
	}
	return kinds
}

// present returns the present state as events.
func (p *Process) present(kinds []notify.Kind) []Event {
	now := time.Now()
	origin := Event{Time: now, PID: p.PID(), Kind: KindGrabbed, Threads: len(p.c.Threads())}
	switch {
	case p.created != "":
		origin.Kind, origin.Path, origin.Err = KindCreated, p.created, p.c.Lacked()
	case p.parent != 0:
		origin.Kind, origin.Parent = KindFollowed, p.parent
	}
	events := []Event{origin}
	if at, held := p.c.Held(); held {
		events = append(events, Event{Time: now, PID: p.PID(), Kind: KindStopped, Point: Point(at), Threads: origin.Threads})
	}
	if sig := p.c.GroupStop(); sig != 0 {
		events = append(events, Event{Time: now, PID: p.PID(), Kind: KindGroupStop, TID: p.PID(), Signal: int(sig)})
	}
	return slices.DeleteFunc(events, func(e Event) bool { return !slices.Contains(kinds, notify.Kind(e.Kind)) })
}

// Next waits for the next event. After the last event it returns io.EOF. After
// Close, of the stream or of the Process, it returns an error that satisfies
// os.ErrClosed. In a Handler, or a function given to Pause, Next does not wait,
// because nothing happens meanwhile: if there is no event it returns
// ErrOnControl.
func (e *Events) Next(ctx context.Context) (Event, error) {
	if e.closed() {
		return Event{}, e.p.fail("events", os.ErrClosed)
	}
	if len(e.first) > 0 {
		next := e.first[0]
		e.first = e.first[1:]
		return next, nil
	}
	if e.p.c == nil || !e.p.c.OnControl() {
		return e.await(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	next, err := e.await(ctx)
	if errors.Is(err, context.Canceled) {
		err = e.p.fail("events", ErrOnControl)
	}
	return next, err
}

// await waits for the next event that has not happened yet.
func (e *Events) await(ctx context.Context) (Event, error) {
	if e.sub == nil {
		return e.nextReadOnly(ctx)
	}
	next, err := e.sub.Next(ctx)
	if errors.Is(err, io.EOF) {
		return Event{}, err
	}
	return eventOf(next), e.p.fail("events", err)
}

// nextReadOnly waits for the end of a process that we do not control.
func (e *Events) nextReadOnly(ctx context.Context) (Event, error) {
	if e.ended {
		return Event{}, io.EOF
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with this call
		select {
		case <-e.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := awaitExit(ctx, e.p)
	if e.closed() {
		err = os.ErrClosed
	}
	if err != nil {
		return Event{}, e.p.fail("events", err)
	}
	e.ended = true
	return Event{Time: time.Now(), PID: e.p.PID(), Kind: KindUndead}, nil
}

// All returns the stream as a sequence. It ends after the last event, or with
// an error of Next as its last element.
func (e *Events) All(ctx context.Context) iter.Seq2[Event, error] { return all(ctx, e.Next) }

// all is the sequence of what next returns.
func all(ctx context.Context, next func(context.Context) (Event, error)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			e, err := next(ctx)
			if errors.Is(err, io.EOF) || !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Close drops what has not been read and wakes Next.
func (e *Events) Close() error {
	e.p.mu.Lock()
	delete(e.p.streams, e)
	e.p.mu.Unlock()
	e.shut()
	return nil
}

func (e *Events) closed() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// Wait waits until the process, control of it, or ctx has ended. It returns the
// last event: KindUndead, KindLost or KindReleased. A Handler must not call it
// (ErrOnControl).
func (p *Process) Wait(ctx context.Context) (Event, error) {
	events := p.Events(&EventOptions{Kinds: []Kind{KindUndead, KindLost, KindReleased}})
	defer events.Close()
	e, err := events.Next(ctx)
	if errors.Is(err, io.EOF) {
		err = p.fail("wait", os.ErrClosed)
	}
	return e, err
}
