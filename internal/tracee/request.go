package tracee

import (
	"context"
	"errors"
	"slices"
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
	// ErrReleased: the target has been released.
	ErrReleased = errors.New("process has been released")
	// ErrEnded: the target has ended.
	ErrEnded = errors.New("process has ended")
)

// Line is the queue of closures that other goroutines hand to a control goroutine, and the bell that wakes it.
type Line struct {
	Bell    *ptrace.Bell
	TID     atomic.Int64 // OS thread of the control goroutine
	waiting atomic.Bool  // the control goroutine is in wait4(2), or about to be

	mu    sync.Mutex
	queue []*request
}

// Requests are the requests about one process.
type Requests struct {
	line   *Line
	closed bool  // guarded by line.mu
	endErr error // why requests are refused, once closed; likewise
}

// request is a closure on its way to the control goroutine.
type request struct {
	of    *Requests
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

// RingAgain is how long a requester waits before it rings again. A ring is lost when it
// falls between the control goroutine's last look at its queue and its wait4(2).
const RingAgain = time.Millisecond

// Do runs f on the control goroutine and waits for it. A request that has not begun
// when ctx is done is withdrawn; one that has begun is waited for.
func (q *Requests) Do(ctx context.Context, f func()) error {
	if q.OnControl() {
		return ErrOnControl
	}
	r := &request{of: q, f: f, done: make(chan struct{})}
	if err := q.enqueue(r); err != nil {
		return err
	}
	q.line.ring()
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
				q.line.Bell.Install()
			}
			q.line.ring()
			again.Reset(RingAgain)
		}
	}
}

// Post makes the control goroutine run f after what it is doing now. It is called on the control goroutine. f is not run
// if requests are refused by then.
func (q *Requests) Post(f func()) {
	_ = q.enqueue(&request{of: q, f: f, done: make(chan struct{})})
}

// enqueue puts a request at the end of the queue, or returns why requests are refused.
func (q *Requests) enqueue(r *request) error {
	q.line.mu.Lock()
	defer q.line.mu.Unlock()
	if !q.closed {
		q.line.queue = append(q.line.queue, r)
	}
	return q.endErr
}

func (q *Requests) OnControl() bool {
	return int64(ptrace.ThreadID()) == q.line.TID.Load()
}

// ring wakes the control goroutine if it may be waiting.
func (l *Line) ring() {
	if l.waiting.Load() {
		l.Bell.Ring() // ESRCH: it has ended, and refuses its requests
	}
}

// next removes the first request from the queue, and returns it; nil if there is none.
func (l *Line) next() *request {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return nil
	}
	r := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	return r
}

// run runs one request. The requester's wait ends also if the request panics.
func (r *request) run() {
	if !r.state.CompareAndSwap(reqQueued, reqStarted) {
		return
	}
	defer close(r.done)
	r.f()
}

// Err returns why requests are refused, or nil.
func (q *Requests) Err() error {
	q.line.mu.Lock()
	defer q.line.mu.Unlock()
	return q.endErr
}

// Queued reports whether a request waits.
func (l *Line) Queued() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) > 0
}

// Close refuses all further requests. It also refuses those that are queued, which ends the wait of their requesters.
func (q *Requests) Close(err error) {
	q.line.mu.Lock()
	if !q.closed {
		q.closed, q.endErr = true, err
	}
	err = q.endErr
	var refused []*request
	q.line.queue = slices.DeleteFunc(q.line.queue, func(r *request) bool {
		if r.of == q {
			refused = append(refused, r)
		}
		return r.of == q
	})
	q.line.mu.Unlock()
	for _, r := range refused {
		if r.state.CompareAndSwap(reqQueued, reqStarted) {
			r.err = err
			close(r.done)
		}
	}
}
