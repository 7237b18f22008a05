package pctl

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"sync"
	"time"

	"ptools/pctl/notify"
)

// Kind is a set of kinds of events; each is one bit.
type Kind = notify.Kind

// Kinds of events. KindUndead, KindLost and KindReleased end a stream.
const (
	KindGrabbed       = notify.Grabbed       // Threads
	KindCreated       = notify.Created       // Path, Err
	KindStopped       = notify.Stopped       // at a rendezvous: Point
	KindContinued     = notify.Continued     // from it
	KindExec          = notify.Exec          // Path, Err
	KindFork          = notify.Fork          // Child
	KindVfork         = notify.Vfork         // Child, also of posix_spawn(3)
	KindThreadStart   = notify.ThreadStart   // TID
	KindThreadExit    = notify.ThreadExit    // TID
	KindLoaded        = notify.Loaded        // Path, Base, Namespace
	KindUnloaded      = notify.Unloaded      // Path, Base, Namespace
	KindHit           = notify.Hit           // of a breakpoint: TID, Addr, Symbol, Offset, Object, Hits
	KindBreakEnd      = notify.BreakEnd      // its text is gone: Addr, Symbol, Offset, Hits, Err
	KindSignal        = notify.Signal        // delivered: TID, Signal
	KindGroupStop     = notify.GroupStop     // by job control or a SIGSTOP: Signal
	KindGroupContinue = notify.GroupContinue // by a SIGCONT
	KindBreakRefused  = notify.BreakRefused  // a breakpoint could not be set at its symbol: Addr, Symbol, Offset, Object, Err
	KindUndead        = notify.Undead        // the process has ended: Exited and Code, or Signal and Core
	KindLost          = notify.Lost          // control has ended, the process perhaps not: Err
	KindReleased      = notify.Released      // we have let it go: Mode
)

// Point is a set of rendezvous points; each is one bit.
type Point = notify.Point

// Rendezvous points.
const (
	PointGrab     = notify.Grab      // a running process has been attached to
	PointCreate   = notify.Create    // before the first instruction of a created one
	PointExec     = notify.PointExec // the same after a later exec
	PointPreinit  = notify.Preinit   // objects are linked, no initialiser has run
	PointPostinit = notify.Postinit  // initialisers have run
	PointMain     = notify.Main      // before main's first instruction
	// Where a Handler or a Catch asked for one (Hold); these are not for asking.
	PointHit    = notify.PointHit
	PointSignal = notify.PointSignal
)

// Event is something that happened to a process. Which fields are set depends
// on its Kind.
type Event = notify.Event

// EventOptions of Process.Events. Nil means the zero value.
type EventOptions struct {
	// Kinds to be told of; zero: all. The end is always told.
	Kinds Kind
}

// Events is a stream of what happens to a process. It holds whatever has not
// been read yet, without limit: close it when nobody reads it any more. One
// goroutine may call Next at a time.
type Events struct {
	p     *Process
	first []Event              // how things were, before what sub delivers
	sub   *notify.Subscription // nil for a process grabbed read-only
	ended bool                 // of the latter: its end was told
	done  chan struct{}        // closed by Close
	shut  func()               // does what Close does to the stream, once
}

// Events opens a stream that begins with how things are: KindGrabbed or
// KindCreated, KindStopped if the process is held at a rendezvous, and KindGroupStop if somebody
// else has stopped it, as far as these kinds are asked for. What happens from then on follows in order. A process that was
// grabbed read-only has one event, its end, with an unknown status.
func (p *Process) Events(o *EventOptions) *Events {
	kinds := notify.All
	if o != nil && o.Kinds != 0 {
		kinds = o.Kinds
	}
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
			e.sub = p.c.Bus().Subscribe(kinds)
		}
		follow := func() {
			open()
			if kinds&KindHit != 0 {
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

// present is how things are, as events.
func (p *Process) present(kinds Kind) []Event {
	now := time.Now()
	origin := Event{Time: now, PID: p.PID(), Kind: KindGrabbed, Threads: len(p.c.Threads())}
	if p.created != "" {
		origin.Kind, origin.Path, origin.Err = KindCreated, p.created, p.c.Lacked()
	}
	events := []Event{origin}
	if at, held := p.c.Held(); held {
		events = append(events, Event{Time: now, PID: p.PID(), Kind: KindStopped, Point: at, Threads: origin.Threads})
	}
	if sig := p.c.GroupStop(); sig != 0 {
		events = append(events, Event{Time: now, PID: p.PID(), Kind: KindGroupStop, TID: p.PID(), Signal: int(sig)})
	}
	wanted := events[:0]
	for _, e := range events {
		if e.Kind&kinds != 0 {
			wanted = append(wanted, e)
		}
	}
	return wanted
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
		return next, err
	}
	return next, e.p.fail("events", err)
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
	events := p.Events(&EventOptions{Kinds: KindUndead | KindLost | KindReleased})
	defer events.Close()
	e, err := events.Next(ctx)
	if errors.Is(err, io.EOF) {
		err = p.fail("wait", os.ErrClosed)
	}
	return e, err
}
