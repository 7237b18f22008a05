package main

import (
	"errors"
	"io"
	"os"
	"sync"
)

// output writes records in the order in which they are put, from one
// goroutine. It writes as soon as it has nothing more to format. So a line is
// never delayed, and many lines cost few calls. put never blocks, so that a
// reader that has stopped reading delays no target.
type output struct {
	w      io.Writer
	format format
	fail   func(error) // called with the first write error
	done   chan struct{}
	wake   chan struct{} // holds a token while there may be something to take

	mu     sync.Mutex
	recs   []*record
	closed bool

	err error // the first write error; to be read after close
}

const (
	queued  = 4096    // records that may wait before hits are only counted
	written = 1 << 16 // bytes that may be formatted before they are written
)

// newOutput starts the goroutine, which close ends and waits for. fail is called
// with a write error at once, so that the targets are let go while they still
// have their goroutines. Records after the error are dropped.
func newOutput(w io.Writer, f format, fail func(error)) *output {
	o := &output{w: w, format: f, fail: fail, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	go o.run()
	return o
}

func (o *output) run() {
	defer close(o.done)
	var b []byte
	for range o.wake {
		recs, closed := o.take()
		for _, r := range recs {
			switch {
			case r.reached != nil:
				close(r.reached)
			case r.then != nil:
				o.write(b)
				b = b[:0]
				r.then()
			case o.err == nil:
				b = appendRecord(b, o.format, r)
			}
			if len(b) >= written {
				o.write(b)
				b = b[:0]
			}
		}
		o.write(b)
		b = b[:0]
		if closed {
			return
		}
	}
}

// take removes all records that wait. No records follow after it has reported
// closed.
func (o *output) take() (recs []*record, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	recs, o.recs = o.recs, nil
	return recs, o.closed
}

func (o *output) write(b []byte) {
	if len(b) == 0 || o.err != nil {
		return
	}
	if _, err := o.w.Write(b); err != nil {
		o.err = err
		o.fail(err)
	}
}

// put queues a record.
func (o *output) put(r *record) {
	o.mu.Lock()
	o.recs = append(o.recs, r)
	o.mu.Unlock()
	o.ring()
}

// named returns when every record put before has been formatted, and does not
// need its process any more.
func (o *output) named() {
	r := &record{reached: make(chan struct{})}
	o.put(r)
	<-r.reached
}

// then has f called when every record put before has been written, on the
// goroutine that writes.
func (o *output) then(f func()) { o.put(&record{then: f}) }

// offer queues a record if not too many wait already.
func (o *output) offer(r *record) bool {
	o.mu.Lock()
	ok := len(o.recs) < queued
	if ok {
		o.recs = append(o.recs, r)
	}
	o.mu.Unlock()
	if ok {
		o.ring()
	}
	return ok
}

// full reports whether a hit now would get no line.
func (o *output) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.recs) >= queued
}

func (o *output) ring() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// close has the rest written. Nothing may be put after it. wait returns the
// result of the writing.
func (o *output) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.ring()
}

// wait returns, once all is written, the first error of writing.
func (o *output) wait() error {
	<-o.done
	return o.err
}

// outputError is an error of writing to standard output.
type outputError struct{ error }

func (e outputError) Error() string { return "write standard output: " + e.error.Error() }
func (e outputError) Unwrap() error { return e.error }

// writeError returns err as an outputError, without the path in it.
func writeError(err error) error {
	var e *os.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	return outputError{err}
}
