package notify

import (
	"context"
	"io"
	"os"
)

// A Subscription is one client's view of a [Bus]. Any goroutine may call its
// methods; where several call Next, each event goes to one of them.
type Subscription struct {
	bus   *Bus
	kinds set

	// bell holds a token whenever there may be something for a caller of Next. A
	// goroutine that takes the token and leaves events in the queue puts it back.
	bell chan struct{}

	// Guarded by bus.mu:
	queue  queue
	ended  bool // the terminal event has been taken
	closed bool
}

// Next returns the next event, and waits for it if there is none. It returns
// io.EOF after the terminal event, os.ErrClosed after Close, and the error of ctx
// if that is done first. An event that is there is returned even if ctx is done.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	for {
		e, found, err := s.take()
		if found || err != nil {
			return e, err
		}
		select {
		case <-s.bell:
		case <-ctx.Done():
			if e, found, err := s.take(); found || err != nil {
				return e, err
			}
			return Event{}, ctx.Err()
		}
	}
}

// take returns the first event of the queue, if there is one.
func (s *Subscription) take() (e Event, found bool, err error) {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	if s.closed {
		s.ring()
		return Event{}, false, os.ErrClosed
	}
	if s.ended {
		s.ring()
		return Event{}, false, io.EOF
	}
	e, found = s.queue.pop()
	s.ended = found && e.Kind.Terminal()
	if s.ended || s.queue.first != nil {
		s.ring()
	}
	return e, found, nil
}

// Close ends the subscription. Queued events are dropped, and every present and
// later Next returns os.ErrClosed. Close is idempotent.
func (s *Subscription) Close() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.queue = queue{}
	s.bus.remove(s)
	s.ring()
}

func (s *Subscription) ring() {
	select {
	case s.bell <- struct{}{}:
	default:
	}
}
