package gotime

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"ptools/internal/goroutines"
)

// A Program is a Go program.
type Program interface {
	// Read calls f with each goroutine, and returns how many could not be read. An error says that there will be no later reading.
	Read(ctx context.Context, f func(*goroutines.G)) (unread int, err error)
	// Name returns the name of the function with an instruction, "" if it is not known.
	Name(pc uint64) string
	// Close releases what Read needs.
	Close()
}

const (
	share     = 100                    // part of a processor's time that readings may take
	firstSlot = 100 * time.Millisecond // time in which the first reading comes
	// Between looks at a program that has just begun.
	shortestWait, longestWait = 10 * time.Millisecond, time.Second

	mostHeld = 64 // rounds that are held for Take; no others are taken meanwhile
)

// A Sampler samples one program. Its methods may be called from any goroutine.
type Sampler struct {
	each   bool
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	rounds []*Round
	err    error
}

// Start begins to sample the program that open returns. There is at most one reading in least. With each, a Sight is one goroutine.
// Close ends the sampling.
func Start(least time.Duration, each bool, open func() (Program, error)) *Sampler {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Sampler{each: each, cancel: cancel, done: make(chan struct{})}
	go s.run(ctx, least, open) // ended and awaited by Close
	return s
}

// Close ends the sampling, and waits for the end of a reading, which is near.
func (s *Sampler) Close() {
	s.cancel()
	<-s.done
}

// Take returns the rounds since the last call. It does not wait.
func (s *Sampler) Take() []*Round {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.rounds
	s.rounds = nil
	return taken
}

// Err returns why the program cannot be sampled, or no longer. It is nil as long as that is not known.
func (s *Sampler) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *Sampler) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *Sampler) run(ctx context.Context, least time.Duration, open func() (Program, error)) {
	defer close(s.done)
	p, err := open()
	for wait := shortestWait; errors.Is(err, goroutines.ErrEarly) && sleep(ctx, wait); wait = min(2*wait, longestWait) {
		p, err = open()
	}
	if err != nil {
		s.fail(err)
		return
	}
	defer p.Close()
	t := &taker{program: p, each: s.each, names: make(map[uint64]string)}
	slot := slot{begin: time.Now(), length: max(firstSlot, least)}
	var pace pace
	for {
		if !sleep(ctx, time.Until(slot.moment())) {
			return
		}
		if s.full() {
			slot.begin = time.Now()
			continue
		}
		began := time.Now()
		round, err := t.round(ctx, slot.length)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.fail(err)
			return
		}
		round.Took = time.Since(began)
		s.hold(round)
		slot = slot.next(pace.slot(round.Took, least))
	}
}

func (s *Sampler) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rounds) >= mostHeld
}

func (s *Sampler) hold(r *Round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rounds = append(s.rounds, r)
}

// sleep reports false if ctx is done.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// A slot is a part of time.
type slot struct {
	begin  time.Time
	length time.Duration
}

// moment draws a moment of the slot.
func (s slot) moment() time.Time {
	return s.begin.Add(time.Duration(rand.Float64() * float64(s.length)))
}

// next returns the slot after one in which a reading has ended now. It begins later than the other one ends if that took too long.
func (s slot) next(length time.Duration) slot {
	begin := s.begin.Add(s.length)
	if now := time.Now(); now.After(begin) {
		begin = now
	}
	return slot{begin, length}
}

// pace remembers how long readings take.
type pace struct{ took time.Duration }

// slot returns the length of the next slot after a reading that took some time.
func (p *pace) slot(took, least time.Duration) time.Duration {
	if p.took == 0 {
		p.took = took
	}
	p.took = (p.took + took) / 2
	return max(share*p.took, least)
}
