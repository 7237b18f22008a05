package sample

import (
	"testing"
	"time"
)

// paced is Ticks whose period was set.
type paced struct{ period time.Duration }

func (p *paced) SetPeriod(d time.Duration) { p.period = d }

// TestPace: a tree that uses little processor time gets as many ticks as a process. If several processors are busy, there
// is one tick a round.
func TestPace(t *testing.T) {
	const round = 10 * time.Millisecond
	ticks := &paced{round / ticksPerRound}
	p := newPace(ticks, round)
	now, count := time.Hour, int64(0)
	p.adapt(now, count, ticks.period) // what was before is not counted
	for _, tt := range []struct {
		busy float64
		want time.Duration
	}{
		{0.1, round / 4}, {0.5, round / 4}, {1, round / 2}, {1.1, round}, {2, round}, {64, round}, {0.9, round / 2}, {0, round / 4},
	} {
		count += int64(tt.busy * float64(paceEvery) / float64(ticks.period))
		p.adapt(now+paceEvery/2, count, ticks.period)
		now += paceEvery
		p.adapt(now, count, ticks.period)
		if ticks.period != tt.want {
			t.Errorf("with %v processors busy a tick each %v, want %v", tt.busy, ticks.period, tt.want)
		}
	}
	if p.slow != round {
		t.Errorf("slowest period %v", p.slow)
	}
	// Rounds may follow each other faster than ticks should.
	for _, rounds := range []time.Duration{time.Second / 999, time.Second / 300} {
		if d := pacedPeriod(rounds, 0.1); d < minTickPeriod && d != rounds || d > rounds {
			t.Errorf("a tick each %v where a round is each %v", d, rounds)
		}
	}
}
