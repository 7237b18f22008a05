package sample

import "time"

// pace adapts how often the timers of the processors fire to what they meet. A process that sleeps most of the time has few
// ticks, so there are several for each round (ticksPerRound). The processes of a tree that keeps processors busy have plenty,
// and each tick costs processor time, which the tree does not get: there it is one a round.
type pace struct {
	ticks  interface{ SetPeriod(time.Duration) } // nil: they come as they do
	rounds time.Duration                         // between rounds
	since  time.Duration                         // 0: nothing was counted yet
	before int64                                 // ticks until then
	slow   time.Duration                         // the longest period that was set; 0: none
}

func newPace(ticks any, rounds time.Duration) *pace {
	p := &pace{rounds: rounds}
	p.ticks, _ = ticks.(interface{ SetPeriod(time.Duration) })
	return p
}

// paceEvery is how long ticks are counted.
const paceEvery = time.Second

// adapt sets the period of the ticks by how many there have been, ticks until now; period is that of the present ones.
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

// pacedPeriod is the period of ticks where so many processors are busy.
func pacedPeriod(rounds time.Duration, busy float64) time.Duration {
	perRound := time.Duration(ticksPerRound)
	if busy > 2./ticksPerRound {
		perRound = max(time.Duration(2/busy), 1)
	}
	return min(max(rounds/perRound, minTickPeriod), rounds)
}
