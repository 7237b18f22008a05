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
	// Kinds to be told of; none: all. The end is always told.
	Kinds []Kind
}

// Events is a stream of what happens to a process. It holds whatever has not
// been read yet, without limit: close it when it is read no more. One
// goroutine may call Next at a time.
type Events struct {
	p     *Process
	first []Event              // how things were, before what sub delivers
	sub   *notify.Subscription // nil for a process grabbed read-only
	ended bool                 // of the latter: its end was told
	done  chan struct{}        // closed by Close
	shut  func()               // does what Close does to the stream, once
}

// Events opens a stream that begins with how things are: KindGrabbed,
// KindCreated or KindFollowed, KindStopped if the process is held at a rendezvous, and KindGroupStop if it is
// stopped from outside, as far as these kinds are asked for. What happens from then on follows in order. A process that was
// grabbed read-only has one event, its end, with an unknown status.
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
		// On the control goroutine nothing happens in between. Where that is
		// over, nothing happens any more.
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

// present is how things are, as events.
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

// Next waits for the next event. After the one that tells the end it returns
// io.EOF, and after Close, of the stream or of the Process, an error that
// satisfies os.ErrClosed. In a Handler, or a function given to Pause, it does not
// wait, because nothing happens meanwhile: where there is no event it returns
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
	err := e.p.awaitExit(ctx)
	if e.closed() {
		err = os.ErrClosed
	}
	if err != nil {
		return Event{}, e.p.fail("events", err)
	}
	e.ended = true
	return Event{Time: time.Now(), PID: e.p.PID(), Kind: KindUndead}, nil
}

// All is the stream as a sequence: it ends after the last event, and an error
// of Next is the last element.
func (e *Events) All(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			next, err := e.Next(ctx)
			if errors.Is(err, io.EOF) || !yield(next, err) || err != nil {
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

// Wait waits for the end of the process, of control of it, or of ctx, and
// returns the last event: KindUndead, KindLost or KindReleased. A Handler cannot
// wait for it (ErrOnControl).
func (p *Process) Wait(ctx context.Context) (Event, error) {
	events := p.Events(&EventOptions{Kinds: []Kind{KindUndead, KindLost, KindReleased}})
	defer events.Close()
	e, err := events.Next(ctx)
	if errors.Is(err, io.EOF) {
		err = p.fail("wait", os.ErrClosed)
	}
	return e, err
}
