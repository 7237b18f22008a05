package control

import (
	"context"
	"sync/atomic"
	"time"

	"ptools/internal/ptrace"
)

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
func (c *Controller) do(ctx context.Context, f func()) error {
	if c.OnControl() {
		return ErrOnControl
	}
	r := &request{f: f, done: make(chan struct{})}
	c.mu.Lock()
	if c.closed {
		defer c.mu.Unlock()
		return c.endErr
	}
	c.queue = append(c.queue, r)
	c.mu.Unlock()
	c.ring()
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
				c.bell.Install()
			}
			c.ring()
			again.Reset(ringAgain)
		}
	}
}

// OnControl reports whether the caller is the control goroutine, which is the only
// one on its OS thread: in a handler, or a function given to Pause, Do or Look.
func (c *Controller) OnControl() bool {
	return int64(ptrace.ThreadID()) == c.tid.Load()
}

// ring wakes the control goroutine if it may be waiting.
func (c *Controller) ring() {
	if c.waiting.Load() {
		c.bell.Ring() // ESRCH: it has ended, and releases its requesters
	}
}

// serve runs what is queued.
func (c *Controller) serve() {
	for !c.over {
		c.mu.Lock()
		if len(c.queue) == 0 {
			c.mu.Unlock()
			return
		}
		r := c.queue[0]
		c.queue[0] = nil
		c.queue = c.queue[1:]
		c.mu.Unlock()
		c.run(r)
	}
}

// run runs one request; its requester is released also if it panics.
func (c *Controller) run(r *request) {
	if !r.state.CompareAndSwap(reqQueued, reqStarted) {
		return
	}
	defer close(r.done)
	c.alert.thread.Off()
	r.f()
}

// queued reports whether a request waits.
func (c *Controller) queued() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue) > 0
}

// closeQueue refuses all further requests and releases those who wait.
func (c *Controller) closeQueue(err error) {
	c.mu.Lock()
	if !c.closed {
		c.closed, c.endErr = true, err
	}
	queue := c.queue
	c.queue = nil
	c.mu.Unlock()
	for _, r := range queue {
		if r.state.CompareAndSwap(reqQueued, reqStarted) {
			r.err = c.endErr
			close(r.done)
		}
	}
}
