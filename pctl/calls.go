package pctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"ptools/internal/calls"
	"ptools/internal/procfs"
)

// Calls counts and times calls of functions of a process: in the kernel, at uprobes. No thread is stopped, and nothing is attached; a
// Process that was grabbed ReadOnly has Calls, too. Where the kernel refuses uprobes, threads of a controlled Process are stopped at int3s
// instead (Trapped). Calls in text that is mapped again are not counted then (Unprobed). A Calls is also a stream of events, of its own, because calls may be many.
//
// Calls end with Close, or that of the Process; when the process has ended, or executes another program, nothing more is
// counted. Stats and Close may be called from any goroutine, Next from one at a time.
type Calls struct {
	p         *Process
	functions []*CalledFunction
	of        map[*calls.Target]*CalledFunction
	spec      calls.Spec
	process   *calls.Process
	trap      Trap
	trapped   error // see Trapped
	alive     *procfs.PIDFD
	queue     chan Event    // closed behind the last event
	closing   chan struct{} // closed by Close
	collected chan struct{} // closed by the collector, at its end
	once      sync.Once     // of Close
	err       error         // of Close

	mu    sync.Mutex
	watch *calls.Watch // nil when closed
	last  []CallStats  // at that time

	elsewhere uint64 // the same
	unread    uint64 // the same
	unprobed  error  // of Close
}

// CalledFunction is a function whose calls are counted.
type CalledFunction struct {
	Name   string // demangled
	Raw    string // as the file has it
	Object string // path of the file
	Err    error  // why it can have no probe; nil: its calls are counted
	// NoEnds is why the ends of its calls are not seen: they are counted, and have no time and no result. Nil: they are seen.
	NoEnds error
}

// Calls begins to count calls of functions. ctx bounds the search for the functions, which may take a second in a large program. Objects
// that are loaded later are not searched. An error of a CallSpec names the part of it. Where the kernel cannot count, or may not, and the Process was
// grabbed ReadOnly or the calls of children are asked for, the error satisfies errors.ErrUnsupported or fs.ErrPermission. A Handler must not call it (ErrOnControl).
func (p *Process) Calls(ctx context.Context, spec *CallSpec) (*Calls, error) {
	const op = "count calls"
	if err := p.open(op); err != nil {
		return nil, err
	}
	if p.c != nil && p.c.OnControl() {
		return nil, p.fail(op, ErrOnControl)
	}
	c := &Calls{p: p, of: map[*calls.Target]*CalledFunction{}, closing: make(chan struct{}), collected: make(chan struct{})}
	if err := c.start(ctx, spec); err != nil {
		c.discard()
		return nil, p.fail(op, err)
	}
	p.mu.Lock()
	closed := p.closed
	if !closed {
		if p.calls == nil {
			p.calls = map[*Calls]struct{}{}
		}
		p.calls[c] = struct{}{}
	}
	p.mu.Unlock()
	go c.collect() // ends with the process or by Close, which waits for it
	if closed {
		c.Close()
		return nil, p.open(op)
	}
	return c, nil
}

// start makes the probes and begins.
func (c *Calls) start(ctx context.Context, spec *CallSpec) error {
	patterns, err := c.parse(spec)
	if err != nil {
		return err
	}
	if c.process, err = calls.OpenShared(c.p.PID(), c.p.s.files); err == nil {
		c.alive, err = c.process.Alive()
	}
	switch {
	case !c.p.h.Alive(): // the number may be another's
		return ErrEnded
	case errors.Is(err, syscall.ESRCH):
		return ErrNoProcess
	case err != nil:
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	found, err := c.process.Select(patterns, c.spec.Arguments())
	if err != nil {
		return err
	}
	if missed := found.Missed(); len(missed) > 0 {
		if err := found.LineError(missed[0]); err != nil {
			return err
		}
		return noFunction{c.process.NotFound(&patterns[missed[0]])}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.watch, err = c.openWatch(ctx, found)
	if wrong, ok := errors.AsType[*calls.ConditionError](err); ok {
		wrong.What = strings.TrimPrefix(wrong.What, "--")
	}
	for i := range found.Targets {
		t := &found.Targets[i]
		f := &CalledFunction{Name: t.Name, Raw: t.Raw, Object: t.Object, Err: t.Err}
		if t.Plan != nil {
			f.NoEnds = t.Plan.Whole
		}
		if f.Err != nil && errors.Is(err, calls.ErrNothing) {
			return fmt.Errorf("%w: %s: %w", err, f.Name, f.Err)
		}
		c.functions = append(c.functions, f)
		c.of[t] = f
	}
	if err != nil {
		return err
	}
	c.watch.Begin()
	return nil
}

// Functions returns the functions that the patterns name, those that can have no probe included.
func (c *Calls) Functions() []*CalledFunction { return c.functions }

// Elsewhere returns how many calls began or ended in text that was mapped again since, as of an object that is unloaded and loaded. Before
// Linux 6.6 these are not counted.
func (c *Calls) Elsewhere() uint64 {
	elsewhere, _ := c.uncounted()
	return elsewhere
}

// Unread returns how many calls are not counted because memory that their condition is about could not be read: at a null pointer, or in a page of
// a file that the process has not read yet.
func (c *Calls) Unread() uint64 {
	_, unread := c.uncounted()
	return unread
}

func (c *Calls) uncounted() (elsewhere, unread uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch != nil {
		c.elsewhere, c.unread = c.watch.Uncounted()
	}
	return c.elsewhere, c.unread
}

// Unprobed returns an error that is [ErrMappedUnprobed] if the process had text of the functions mapped MAP_SHARED, or so that it can be written:
// the kernel plants no probes there, and calls there were not counted. Another error means that this is not known. It is nil before Close.
func (c *Calls) Unprobed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unprobed
}

// Next waits for the next event: a KindCall for each call that the CallSpec asks for, within 10 ms of its end. Calls of
// different threads may be out of order by that. The last event is KindExec, or KindUndead with an unknown status, or, before
// Linux 6.6, KindLost if the process's first thread has ended. With CallsOfChildren it is KindUndead when no process is left. After
// that Next returns io.EOF. Events that are not read are kept, some thousand in our memory, and some ten thousand in the kernel's, or
// 3,700 with stacks. What finds no room is counted (CallStats.Unseen). After Close Next returns an error that satisfies os.ErrClosed.
func (c *Calls) Next(ctx context.Context) (Event, error) {
	const op = "calls"
	select {
	case <-c.closing:
		return Event{}, c.p.fail(op, os.ErrClosed)
	default:
	}
	select {
	case <-c.closing:
		return Event{}, c.p.fail(op, os.ErrClosed)
	case <-ctx.Done():
		return Event{}, c.p.fail(op, ctx.Err())
	case e, ok := <-c.queue:
		if !ok {
			return Event{}, io.EOF
		}
		return e, nil
	}
}

// All returns the events as a sequence. It ends after the last event, or with an error of Next as its last element.
func (c *Calls) All(ctx context.Context) iter.Seq2[Event, error] { return all(ctx, c.Next) }

// Close lifts the probes, which takes some 0.1 s, and drops events that have not been read. Stats then returns what was counted until Close. To
// close again is no error.
func (c *Calls) Close() error {
	c.once.Do(func() {
		close(c.closing)
		<-c.collected
		c.p.mu.Lock()
		delete(c.p.calls, c)
		c.p.mu.Unlock()
		c.watch.End()
		c.last = c.Stats()
		c.uncounted()
		c.mu.Lock()
		defer c.mu.Unlock()
		if err := c.watch.Unprobed(); errors.Is(err, calls.ErrUnprobed) {
			c.unprobed = c.p.fail("calls", fmt.Errorf("%w (%v)", ErrMappedUnprobed, err))
		} else {
			c.unprobed = err
		}
		c.err = c.p.fail("close calls", c.discard())
	})
	return c.err
}

// discard gives back what was opened.
func (c *Calls) discard() (err error) {
	if c.watch != nil {
		err = c.watch.Close()
		c.watch = nil
	}
	if c.alive != nil {
		c.alive.Close()
	}
	if c.process != nil {
		c.process.Close()
	}
	return err
}

// The time between two looks of the collector. The kernel has room for 3,700 stacks.
const (
	lookForCalls  = 10 * time.Millisecond
	lookForStacks = 5 * time.Millisecond
	lookForEnd    = 50 * time.Millisecond
)

// collect takes calls out of the kernel's memory, and notices the end.
func (c *Calls) collect() {
	defer close(c.collected)
	every := lookForEnd
	switch {
	case c.spec.By.Stack() || c.spec.Stack:
		every = lookForStacks
	case cap(c.queue) > 1:
		every = lookForCalls
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-c.closing:
			return
		case <-tick.C:
		}
		last, over := c.over()
		if more := c.take(); more || !over { // in this order: what came before the end is taken
			continue
		}
		select {
		case c.queue <- last:
			close(c.queue)
		case <-c.closing:
		}
		return
	}
}

// over reports whether nothing more is counted, and the event that says why.
func (c *Calls) over() (Event, bool) {
	e := Event{Time: time.Now(), PID: c.p.PID(), Kind: KindUndead}
	switch {
	case c.spec.Follow:
		return e, c.watch.Over()
	case c.watch.Executed():
		e.Kind = KindExec
		e.Path, _ = procfs.Exe(e.PID) // it may have ended
		return e, true
	case !c.alive.Alive():
		return e, true
	}
	if e.Err = c.watch.Lost(); e.Err != nil {
		e.Kind = KindLost
		return e, true
	}
	return e, false
}

// take queues the calls that there is room for. It reports whether there may be more.
func (c *Calls) take() (more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spec.By.Stack() {
		c.watch.Reports(nil)
		return false
	}
	room := cap(c.queue) - len(c.queue)
	if cap(c.queue) == 1 {
		return false
	}
	c.watch.ReportsUpTo(room, func(k *calls.Call) {
		room--
		c.queue <- c.event(k) // has room: nothing else writes to it
	})
	return room == 0
}
