package tracee

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"ptools/internal/ptrace"
)

// Errors of requests.
var (
	// ErrOnControl is returned to a handler or a Pause function that makes a request
	// which only another goroutine may make: it would wait for itself.
	ErrOnControl = errors.New("called on the control goroutine, which would wait for itself")
	// ErrReleased: the target has been let go.
	ErrReleased = errors.New("process has been released")
	// ErrEnded: the target is no more.
	ErrEnded = errors.New("process has ended")
)

// Requests are closures that other goroutines hand to the control goroutine, and the bell that wakes it.
type Requests struct {
	Bell    *ptrace.Bell
	TID     atomic.Int64 // OS thread of the control goroutine
	waiting atomic.Bool  // the control goroutine is in wait4(2), or about to be

	mu     sync.Mutex
	queue  []*request
	closed bool
	endErr error // why requests are refused, once closed
}

// request is a closure on its way to the control goroutine.
type request struct {
	f     func()
	err   error // why it was not run
	state atomic.Uint32
	done  chan struct{}
}

const (
	reqQueued uint32 = iota
	reqStarted
	reqCancelled
)

// RingAgain is how long a requester waits for an answer before it rings again: a
// ring may fall between the control goroutine's last look at its queue and its
// wait4(2).
const RingAgain = time.Millisecond

// Do runs f on the control goroutine and waits for it. A request that has not begun
// when ctx is done is withdrawn; one that has begun is waited for.
func (q *Requests) Do(ctx context.Context, f func()) error {
	if q.OnControl() {
		return ErrOnControl
	}
	r := &request{f: f, done: make(chan struct{})}
	q.mu.Lock()
	if q.closed {
		defer q.mu.Unlock()
		return q.endErr
	}
	q.queue = append(q.queue, r)
	q.mu.Unlock()
	q.ring()
	again := time.NewTimer(RingAgain)
	defer again.Stop()
	cancelled := ctx.Done()
	for {
		select {
		case <-r.done:
			return r.err
		case <-cancelled:
			if r.state.CompareAndSwap(reqQueued, reqCancelled) {
				return ctx.Err()
			}
			cancelled = nil
		case <-again.C:
			if r.state.Load() == reqQueued {
				q.Bell.Install()
			}
			q.ring()
			again.Reset(RingAgain)
		}
	}
}

func (q *Requests) OnControl() bool {
	return int64(ptrace.ThreadID()) == q.TID.Load()
}

// ring wakes the control goroutine if it may be waiting.
func (q *Requests) ring() {
	if q.waiting.Load() {
		q.Bell.Ring() // ESRCH: it has ended, and releases its requesters
	}
}

// serve runs what is queued.
func (w *Waiter) serve() {
	for !w.g.phase.Over() {
		w.g.Requests.mu.Lock()
		if len(w.g.Requests.queue) == 0 {
			w.g.Requests.mu.Unlock()
			return
		}
		r := w.g.Requests.queue[0]
		w.g.Requests.queue[0] = nil
		w.g.Requests.queue = w.g.Requests.queue[1:]
		w.g.Requests.mu.Unlock()
		w.runRequest(r)
	}
}

// runRequest runs one request; its requester is released also if it panics.
func (w *Waiter) runRequest(r *request) {
	if !r.state.CompareAndSwap(reqQueued, reqStarted) {
		return
	}
	defer close(r.done)
	w.g.Alert.Thread.Off()
	r.f()
}

// Err returns why requests are refused, or nil.
func (q *Requests) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.endErr
}

// Queued reports whether a request waits.
func (q *Requests) Queued() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue) > 0
}

// Close refuses all further requests and releases those who wait.
func (q *Requests) Close(err error) {
	q.mu.Lock()
	if !q.closed {
		q.closed, q.endErr = true, err
	}
	queue := q.queue
	q.queue = nil
	q.mu.Unlock()
	for _, r := range queue {
		if r.state.CompareAndSwap(reqQueued, reqStarted) {
			r.err = q.endErr
			close(r.done)
		}
	}
}

// Loop is the life of the control goroutine: requests, then whatever the kernel has
// to tell, one report at a time.
func (w *Waiter) Loop() {
	for w.serve(); !w.g.phase.Over(); w.serve() {
		s, err := w.poll()
		if err == nil && s.Kind == ptrace.KindNone {
			// Whoever queues a request from here on rings.
			w.g.Requests.waiting.Store(true)
			if !w.g.Requests.Queued() {
				w.beAlert()
				s, err = w.g.Reports.wait(true)
				w.calmFor(s, err)
			}
			w.g.Requests.waiting.Store(false)
		}
		w.report(s, err)
	}
}
