package perfevent

import (
	"io"
	"sync"
)

// A Closer closes events in the background, one after the other: the kernel does
// not do it in parallel either (perf_uprobe_destroy waits for its grace periods
// under event_mutex). The zero value is ready; it may be used from any goroutine.
type Closer struct {
	mu      sync.Mutex
	queue   []io.Closer
	running bool
	idle    sync.Cond // on mu: running has become false
	err     error
}

// Close takes e over and returns at once.
func (c *Closer) Close(e io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, e)
	if !c.running {
		c.running = true
		go c.work() // ends when the queue is empty; Wait waits for it
	}
}

// work closes what is queued.
func (c *Closer) work() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 {
		e := c.queue[0]
		c.queue = c.queue[1:]
		c.mu.Unlock()
		err := e.Close()
		c.mu.Lock()
		if c.err == nil {
			c.err = err
		}
	}
	c.queue, c.running = nil, false
	if c.idle.L != nil {
		c.idle.Broadcast()
	}
}

// Wait returns when everything that was given to Close before is closed, with
// the first error there was. The Closer can be used again.
func (c *Closer) Wait() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle.L = &c.mu
	for c.running {
		c.idle.Wait()
	}
	err := c.err
	c.err = nil
	return err
}
