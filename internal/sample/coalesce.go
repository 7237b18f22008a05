package sample

import "time"

// As long as threads only run, seen by their timers, or rest, a round finds out nothing that
// the next one would not: timers keep their samples, and a thread that has not moved between the
// first and the last of some ticks was where it is at each of them. Such rounds are left out,
// a few at a time, and the next takes their ticks too. A round that finds that a thread has
// gone to wait or woken since the last one takes one tick, and those before it are missed;
// the more often that happens the longer it takes until one is put off again.

// coalescing says when to put off a round.
type coalescing struct {
	rounds   int // calm ones since the last that was not
	patience int // so many it takes
}

const (
	maxCoalesced = 4 * time.Millisecond // from round to round
	minPatience  = 8
	maxPatience  = 1024
)

// coalesce decides about the next round after one of which it is known whether it was calm.
func (s *Sampler) coalesce(calm bool) {
	l := &s.calm
	if s.sched.coalesced > 0 {
		s.sched.landed(calm)
		if !calm {
			l.patience = min(2*l.patience, maxPatience)
		}
	}
	if l.rounds++; !calm {
		l.rounds = 0
	}
	n := int64(maxCoalesced/s.opt.Period) - 1
	if n <= 0 || l.rounds < l.patience || len(s.processes) > 1 || s.tree != nil || s.opt.Each != nil {
		return
	}
	if s.opt.For > 0 && s.sched.due()+time.Duration(n)*s.opt.Period > s.sched.start+s.opt.For {
		return
	}
	s.sched.coalesce(n)
}

// isCalm reports whether nothing has happened since the last round but that threads ran, which
// their timers have seen, or were kept waiting for a processor.
func (a *activity) isCalm(before *switchCounts) bool {
	b := &a.switches
	if b.sum == nil || !b.known || b.yields != before.yields || a.p.roster.stale || len(a.p.looking.wanted) > 0 {
		return false
	}
	for _, t := range a.examined {
		if t.turn.verdict != keep && t.turn.verdict != running {
			return false
		}
	}
	return true
}
