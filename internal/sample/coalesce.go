package sample

import "time"

// While threads only rest, or run and are seen by timers, a round finds out nothing that the
// next one would not. Timers keep their samples. A thread that has not moved between the first
// and the last of some ticks was in the same place at each of them. A few such rounds at a time
// are left out, and the next round takes their ticks too. If a round finds that a thread has
// gone to wait or woken since the last round, it takes one tick, and the ticks before it are
// missed. The more often that happens, the longer it takes until a round is put off again.

// coalescing says when to put off a round.
type coalescing struct {
	rounds   int // calm rounds since the last that was not calm
	patience int // calm rounds before one is put off
}

const (
	maxCoalesced = 4 * time.Millisecond // from round to round
	minPatience  = 8
	maxPatience  = 1024
)

// coalesce decides whether to put off the next round, after a round that was calm or was not.
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

// isCalm reports whether since the last round threads have only run, seen by timers, or waited
// for a processor.
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
