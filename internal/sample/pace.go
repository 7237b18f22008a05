package sample

import "time"

// pace adapts the rate of the processors' timers to the number of ticks. A process that sleeps most of the time gets few
// ticks, so there are several for each round (ticksPerRound). A tree that keeps processors busy gets plenty, and each
// tick costs processor time that the tree then lacks: there it is one a round.
type pace struct {
	ticks  interface{ SetPeriod(time.Duration) } // nil: their rate is fixed
	rounds time.Duration                         // time between rounds
	since  time.Duration                         // when counting began; 0: not yet
	before int64                                 // number of ticks then
	slow   time.Duration                         // the longest period that was set; 0: none
}

func newPace(ticks any, rounds time.Duration) *pace {
	p := &pace{rounds: rounds}
	p.ticks, _ = ticks.(interface{ SetPeriod(time.Duration) })
	return p
}

// paceEvery is how long ticks are counted.
const paceEvery = time.Second

// adapt sets the period of the ticks by how many have come lately. ticks is their number until now, and period the
// present period.
func (p *pace) adapt(now time.Duration, ticks int64, period time.Duration) {
	if p.since == 0 {
		p.since, p.before = now, ticks
	}
	if p.ticks == nil || now-p.since < paceEvery {
		return
	}
	busy := float64(ticks-p.before) * float64(period) / float64(now-p.since)
	p.since, p.before = now, ticks
	if next := pacedPeriod(p.rounds, busy); next != period {
		p.ticks.SetPeriod(next)
		p.slow = max(p.slow, next)
	}
}

// pacedPeriod returns the period of ticks for a number of busy processors.
func pacedPeriod(rounds time.Duration, busy float64) time.Duration {
	perRound := time.Duration(ticksPerRound)
	if busy > 2./ticksPerRound {
		perRound = max(time.Duration(2/busy), 1)
	}
	return min(max(rounds/perRound, minTickPeriod), rounds)
}
