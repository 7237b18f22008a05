package gotime

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"ptools/internal/goroutines"
)

// ErrOver says that the goroutines of a program can be read no longer: it has ended, or executes another one.
var ErrOver = errors.New("the process has ended, or executes another program")

// A Program is a process that may be a Go program, or become one: a library that it loads may be written in Go.
type Program interface {
	// Find finds the goroutines that Read reads. What is said of Read's errors is true of those of Find.
	Find() error
	// Read calls f with each goroutine, and returns how many could not be read. After ErrOver there will be no later reading; after another
	// error the next one may succeed.
	Read(ctx context.Context, f func(*goroutines.G)) (unread int, err error)
	// Name returns the name of the function with an instruction, "" if it is not known.
	Name(pc uint64) string
}

const (
	share     = 100                    // part of a processor's time that readings may take
	firstSlot = 100 * time.Millisecond // time in which the first reading comes
	// Between readings that fail: the program has just begun, or is no Go program.
	shortestWait, longestWait = 10 * time.Millisecond, 5 * time.Second

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

// Start begins to sample a program. There is at most one reading in least. With each, a Sight is one goroutine. Close ends the sampling.
func Start(least time.Duration, each bool, p Program) *Sampler {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Sampler{each: each, cancel: cancel, done: make(chan struct{})}
	go s.run(ctx, least, p) // ended and awaited by Close
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

// Err returns why the last reading failed. It is nil if that succeeded, and before the first.
func (s *Sampler) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// tell is what Err returns from now on.
func (s *Sampler) tell(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *Sampler) run(ctx context.Context, least time.Duration, p Program) {
	defer close(s.done)
	t := &taker{program: p, each: s.each, names: make(map[uint64]string)}
	slot := slot{begin: time.Now(), length: max(firstSlot, least)}
	wait := shortestWait
	pace := pace{usual}
	for sleep(ctx, time.Until(slot.moment())) {
		if s.full() {
			slot.begin = time.Now()
			continue
		}
		round, err := t.round(ctx, slot.length)
		if ctx.Err() != nil {
			return
		}
		s.tell(err)
		switch {
		case errors.Is(err, ErrOver):
			return
		case err != nil:
			length := wait
			if round != nil {
				length = max(wait, pace.slot(round.Took, least))
			}
			slot = slot.next(length)
			wait = min(2*wait, longestWait)
		default:
			s.hold(round)
			slot = slot.next(pace.slot(round.Took, least))
			wait = shortestWait
		}
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

// pace remembers how long the last reading took.
type pace struct{ last time.Duration }

// usual is what a reading takes until one has taken less: that the machine had no time for the first one does not keep off the second.
const usual = 10 * time.Millisecond

// slot returns the length of the next slot after a reading that took some time. Of two readings the shorter one counts: the other one may have
// waited for a processor.
func (p *pace) slot(took, least time.Duration) time.Duration {
	shorter := min(p.last, took)
	p.last = took
	return max(share*shorter, least)
}
