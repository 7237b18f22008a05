package sample

import (
	"math"
	"time"

	"ptools/internal/profile"
)

// In the end the processor time that was counted is reconciled with what the kernel says.
// A thread that was met often has counted what it has used, more or less: its counts are stretched to
// just that. The others, those that have ended included, are stretched together to what is
// left of the processor time of the process.
//
// Timers do not see all of it: where the kernel has interrupts off, as while it switches threads, no
// interrupt comes, and what it does there shows behind it, on the next thread. On a virtual machine, where
// setting a timer is slow, that may be half of what a program uses that does nothing but sleep and
// wake. perf's clock and the kernel's own user and system times miss the same. So the counts of all
// threads may be stretched by the same factor; but not without a bound, and what is more than that and more than
// chance explains is not given to places where few were met. It stands under a name of its own.

const (
	firmTicks  = 32 // from so many ticks on a thread is reconciled by itself
	maxStretch = 4  // for all threads of a process together
)

// spending is the processor time of a process.
type spending struct {
	p          *process
	base       time.Duration // at the beginning
	total      time.Duration // when it was last read
	sinceTotal time.Duration // what ticks have counted since then
	exact      bool          // the last reading is of the end
	totals     budget
}

// reconcile makes the processor time that was counted what the process has used.
func (s *spending) reconcile() {
	total := int64(s.usedTotal())
	counted := s.p.sampler.profile.Counted(s.p.PID)
	all := int64(0)
	for _, ns := range counted {
		all += ns
	}
	stretch := min(max(float64(total)/float64(max(all, 1)), 1), maxStretch)
	firm := firmTicks * int64(s.p.sampler.tickPeriod())
	rest, loose := total, make(map[profile.ThreadID]bool)
	for id, ns := range counted {
		loose[id] = ns > 0
	}
	for _, t := range s.p.roster.threads {
		if used := int64(t.usage.used); counted[t.id] >= firm && used <= rest && !t.usage.inexact {
			rest -= s.stretch(map[profile.ThreadID]bool{t.id: true}, counted[t.id], used, stretch)
			delete(loose, t.id)
		}
	}
	sum := int64(0)
	for id := range loose {
		sum += counted[id]
	}
	rest -= s.stretch(loose, sum, rest, stretch)
	if period := int64(s.p.sampler.tickPeriod()); rest <= 4*period && all > 0 {
		for id := range counted {
			loose[id] = true
		}
		s.p.sampler.profile.Stretch(s.p.PID, loose, total) // so little may be of threads that no tick has met
		return
	}
	s.unattributed(rest)
}

// stretch makes the processor time of some threads, counted until now, what they have used, or as much of
// it as they can have. It returns how much that is.
func (s *spending) stretch(threads map[profile.ThreadID]bool, counted, used int64, by float64) int64 {
	if counted == 0 {
		return 0
	}
	period := float64(s.p.sampler.tickPeriod())
	chance := 4*math.Sqrt(float64(counted)*period) + 4*period // four standard deviations, and four ticks
	used = max(min(used, int64(float64(counted)*by+chance)), 0)
	s.p.sampler.profile.Stretch(s.p.PID, threads, used)
	return used
}

// unattributed counts processor time of which nothing else is known.
func (s *spending) unattributed(ns int64) {
	if ns <= 0 || s.p.space == nil {
		return
	}
	id := s.p.threadID(0, "[not sampled]")
	stack := s.p.space.Push(0, s.p.sampler.profile.Note("[not sampled]"))
	s.p.space.Add(s.p.space.Cell(id, stack), profile.Values{CPU: ns})
}

// keepTotal reads what the process has used, so that it is known when the process has ended. It takes
// the longer the more threads there are, so it is not done in each round where it takes long.
func (s *spending) keepTotal(now time.Duration) {
	if s.p.CPU == nil || !s.totals.due(now) {
		return
	}
	begun := s.p.sampler.clock.Now()
	s.readTotal()
	s.totals.took(begun, s.p.sampler.clock.Now(), 100)
}

// readTotal reads what the process has used. It reports false if that is not known: it may have ended.
func (s *spending) readTotal() bool {
	if s.p.CPU == nil {
		return false
	}
	total, err := s.p.CPU()
	if err == nil {
		s.total, s.sinceTotal = total, 0
	}
	s.exact = err == nil
	return s.exact
}

// keep is readTotal that adds what ticks have counted if the process has ended.
func (s *spending) keep() {
	if !s.readTotal() {
		s.total, s.sinceTotal = s.total+s.sinceTotal, 0
	}
}

// usedTotal is the processor time of the process since the beginning: as the kernel counts it and, of what
// came after it was last asked, as ticks do.
func (s *spending) usedTotal() time.Duration {
	if s.exact {
		return s.total - s.base
	}
	used := time.Duration(0)
	for _, t := range s.p.roster.threads {
		used += time.Duration(t.usage.used)
	}
	if s.p.CPU == nil {
		return used
	}
	return max(s.total+s.sinceTotal-s.base, used)
}

// A budget bounds how much of the time something takes that need not be done in each round.
type budget struct{ next time.Duration }

func (b *budget) due(now time.Duration) bool { return now >= b.next }

// took says when it has been done; so many times as long it is not due again.
func (b *budget) took(begun, ended, times time.Duration) { b.next = ended + times*(ended-begun) }
