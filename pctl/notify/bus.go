// Package notify carries the events of one process from the goroutine that observes
// them to any number of clients.
//
// A [Bus] never makes its publisher wait for a client. Every [Subscription] has a
// queue without a bound: a slow client only costs memory for the events that it
// has asked for. The events of a subscription arrive in the order in which they
// were published. Each subscription is notified of the end exactly once, whether
// it began before or after the end: its last event is the first of Undead, Lost or
// Released that was published. Then comes io.EOF.
package notify

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Bus distributes the events of one process. Any goroutine may call its
// methods; none of them blocks.
type Bus struct {
	wanted atomic.Uint32 // union of the sets of subs: Publish drops other kinds

	mu   sync.Mutex
	subs []*Subscription // nil after the end
	end  *Event          // the terminal event, once published
}

// NewBus returns a Bus without subscriptions.
func NewBus() *Bus {
	b := new(Bus)
	b.wanted.Store(uint32(terminal))
	return b
}

// Wants reports whether an event of a kind would reach a subscription. An event
// that would not need not be composed.
func (b *Bus) Wants(k Kind) bool { return set(b.wanted.Load()).has(k) }

// Publish queues an event for every subscription that wants its kind. A zero
// Time becomes the present. Events after a terminal event are dropped.
func (b *Bus) Publish(e Event) {
	if !b.Wants(e.Kind) {
		return
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end != nil {
		return
	}
	for _, s := range b.subs {
		if s.kinds.has(e.Kind) {
			s.queue.push(e)
			s.ring()
		}
	}
	if e.Kind.Terminal() {
		end := e // a copy, so that other events stay off the heap
		b.end = &end
		b.subs = nil
		b.wanted.Store(0)
	}
}

// Subscribe begins a subscription to some kinds; the terminal kinds are always
// among them. It gets the events that are published from now on. After the end it
// only gets the terminal event.
func (b *Bus) Subscribe(kinds ...Kind) *Subscription {
	s := &Subscription{bus: b, kinds: setOf(kinds), bell: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end != nil {
		s.queue.push(*b.end)
		s.ring()
		return s
	}
	b.subs = append(b.subs, s)
	b.wanted.Or(uint32(s.kinds))
	return s
}

// remove ends the deliveries to s. b.mu is held.
func (b *Bus) remove(s *Subscription) {
	if b.end != nil {
		return
	}
	b.subs = slices.DeleteFunc(b.subs, func(o *Subscription) bool { return o == s })
	wanted := terminal
	for _, o := range b.subs {
		wanted |= o.kinds
	}
	b.wanted.Store(uint32(wanted))
}
