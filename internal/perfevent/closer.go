package perfevent

import (
	"io"
	"runtime"
	"sync"
)

// A Closer closes probes in the background, many at the same time. Most of the time
// that each takes is a wait for grace periods of the kernel, which they share. It may
// be used from any goroutine.
type Closer struct {
	wg   sync.WaitGroup
	turn chan struct{} // holds one value for each close under way
	mu   sync.Mutex
	err  error
}

// atOnce is how many probes are closed at the same time. Each close takes an OS thread,
// which ends with it.
const atOnce = 64

// NewCloser returns a Closer.
func NewCloser() *Closer { return &Closer{turn: make(chan struct{}, atOnce)} }

// Close takes e over and returns at once. The channel is closed when e has been closed.
func (c *Closer) Close(e io.Closer) <-chan struct{} {
	closed := make(chan struct{})
	c.wg.Go(func() { // ends with the system call, after those before it; Wait waits for it
		defer close(closed)
		c.turn <- struct{}{}
		defer func() { <-c.turn }()
		runtime.LockOSThread() // for good: the thread ends
		if err := e.Close(); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.err == nil {
				c.err = err
			}
		}
	})
	return closed
}

// Wait returns when everything that was given to Close before has been closed. It
// returns the first error there was. The Closer can be used again.
func (c *Closer) Wait() error {
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.err
	c.err = nil
	return err
}
