package control

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
	// ErrNotHeld: Continue without a rendezvous.
	ErrNotHeld = errors.New("process is not stopped at a rendezvous")
)

// requests are closures that other goroutines hand to the control goroutine, and the bell that wakes it.
type requests struct {
	bell    *ptrace.Bell
	tid     atomic.Int64 // OS thread of the control goroutine
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

// ringAgain is how long a requester waits for an answer before it rings again: a
// ring may fall between the control goroutine's last look at its queue and its
// wait4(2).
const ringAgain = time.Millisecond

// do runs f on the control goroutine and waits for it. A request that has not begun
// when ctx is done is withdrawn; one that has begun is waited for.
func (q *requests) do(ctx context.Context, f func()) error {
	if q.onControl() {
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
	again := time.NewTimer(ringAgain)
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
				q.bell.Install()
			}
			q.ring()
			again.Reset(ringAgain)
		}
	}
}

func (q *requests) onControl() bool {
	return int64(ptrace.ThreadID()) == q.tid.Load()
}

// ring wakes the control goroutine if it may be waiting.
func (q *requests) ring() {
	if q.waiting.Load() {
		q.bell.Ring() // ESRCH: it has ended, and releases its requesters
	}
}

// serve runs what is queued.
func (w *waiter) serve() {
	for !w.g.phase.over() {
		w.g.requests.mu.Lock()
		if len(w.g.requests.queue) == 0 {
			w.g.requests.mu.Unlock()
			return
		}
		r := w.g.requests.queue[0]
		w.g.requests.queue[0] = nil
		w.g.requests.queue = w.g.requests.queue[1:]
		w.g.requests.mu.Unlock()
		w.runRequest(r)
	}
}

// runRequest runs one request; its requester is released also if it panics.
func (w *waiter) runRequest(r *request) {
	if !r.state.CompareAndSwap(reqQueued, reqStarted) {
		return
	}
	defer close(r.done)
	w.g.alert.thread.Off()
	r.f()
}

// err returns why requests are refused, or nil.
func (q *requests) err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.endErr
}

// queued reports whether a request waits.
func (q *requests) queued() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue) > 0
}

// closeQueue refuses all further requests and releases those who wait.
func (q *requests) closeQueue(err error) {
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

// loop is the life of the control goroutine: requests, then whatever the kernel has
// to tell, one report at a time.
func (w *waiter) loop() {
	for w.serve(); !w.g.phase.over(); w.serve() {
		s, err := w.poll()
		if err == nil && s.Kind == ptrace.KindNone {
			// Whoever queues a request from here on rings.
			w.g.requests.waiting.Store(true)
			if !w.g.requests.queued() {
				w.beAlert()
				s, err = w.g.reports.wait(true)
				w.calmFor(s, err)
			}
			w.g.requests.waiting.Store(false)
		}
		w.report(s, err)
	}
}
