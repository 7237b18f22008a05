package sample

import (
	"context"
	"time"
)

// Clock is the time by which a sampler works.
type Clock interface {
	// Now returns the time since some fixed moment.
	Now() time.Duration
	// Until returns when Now has reached t, or earlier with ctx's error.
	Until(ctx context.Context, t time.Duration) error
}

// schedule is the absolute sequence of ticks, one in each period since start: tick
// n is due at start + (n-1)*period + phase. A late tick does not delay the
// following ones.
//
// If random is set, the phase is drawn anew for each tick. Every moment then has
// the same probability of being sampled. Ticks at fixed intervals would always see
// the same part of a program that does the same every millisecond.
type schedule struct {
	start, period time.Duration
	next          int64         // number of the tick that comes next
	coalesced     int64         // number of ticks before it that its round shall take too
	phase         time.Duration // its phase, in (0, period]
	random        func(n int64) int64

	taken  int64         // ticks that became rounds
	late   int64         // those of taken that began more than half a period after they were due
	missed int64         // ticks that were not taken because a later one was due already
	ended  time.Duration // when the sampling has ended, by the clock; 0: not yet
}

func newSchedule(start, period time.Duration) schedule {
	return schedule{start: start, period: period, next: 1, phase: period}
}

// due returns when the next tick is due.
func (s *schedule) due() time.Duration {
	return s.start + time.Duration(s.next-1)*s.period + s.phase
}

// draw chooses the phase of the next tick.
func (s *schedule) draw() {
	if s.random != nil {
		s.phase = time.Duration(s.random(int64(s.period))) + 1
	}
}

// take makes a round of the last tick whose period is over at now, or else of the next tick. Earlier
// ticks that were not taken are missed, and are not made up for.
func (s *schedule) take(now time.Duration) {
	last := max(int64((now-s.start)/s.period), s.next)
	s.missed += last - s.next
	s.next = last
	if now-s.due() > s.period/2 {
		s.late++
	}
	s.next++
	s.taken++
	s.draw()
}

// coalesce puts off the next round by n ticks, which that round shall take too.
func (s *schedule) coalesce(n int64) {
	s.next += n
	s.coalesced = n
}

// landed records whether a round could take the ticks by which it was put off.
func (s *schedule) landed(all bool) {
	if all {
		s.taken += s.coalesced
	} else {
		s.missed += s.coalesced
	}
	s.coalesced = 0
}

// monotonic is the clock of the machine.
type monotonic struct {
	epoch time.Time
	timer *time.Timer
	nap   func(time.Duration)
}

func newMonotonic(shared bool) *monotonic {
	t := time.NewTimer(time.Hour)
	t.Stop()
	m := &monotonic{epoch: time.Now(), timer: t, nap: time.Sleep}
	if !shared {
		m.nap = napping()
	}
	return m
}

func (m *monotonic) Now() time.Duration { return time.Since(m.epoch) }

func (m *monotonic) Until(ctx context.Context, t time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d := t - m.Now(); d > 2*napLength {
		m.timer.Reset(d - napLength)
		select {
		case <-m.timer.C:
		case <-ctx.Done():
			m.timer.Stop()
			return ctx.Err()
		}
	}
	for d := t - m.Now(); d > 0; d = t - m.Now() {
		m.nap(d)
	}
	return ctx.Err()
}

// napLength bounds, with a factor of two, how long Until may sleep without looking at its
// context.
const napLength = 10 * time.Millisecond
