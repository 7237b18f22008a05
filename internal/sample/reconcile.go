package sample

import (
	"math"
	"time"

	"ptools/internal/profile"
)

// In the end the processor time that was counted is reconciled with the kernel's figures. The counts
// of a thread that was met often are about right: they are stretched to exactly what the thread has
// used. The counts of the other threads, ended ones included, are stretched together to the rest of
// the processor time of the process.
//
// Timers do not see all processor time. Where the kernel has interrupts off, for instance while it switches
// threads, no interrupt comes. The time spent there shows later, on the next thread. On a virtual machine, where
// setting a timer is slow, that may be half of the processor time of a program that only sleeps and wakes.
// perf's clock and the kernel's own user and system times miss the same time. So the counts of all threads may
// be stretched by the same factor, up to a bound. Time beyond that bound, and beyond what chance explains, is
// not given to the few places that were met. It is counted under a name of its own.

const (
	firmTicks  = 32 // from this many ticks on a thread is reconciled by itself
	maxStretch = 4  // bound for all threads of a process together
)

// spending is the processor time of a process.
type spending struct {
	p          *process
	base       time.Duration // at the beginning
	total      time.Duration // when it was last read
	sinceTotal time.Duration // counted by ticks since then
	exact      bool          // the last reading was made at the end
	totals     budget
	missing    unmet
}

// reconcile stretches the processor time that was counted to what the process has used.
func (s *spending) reconcile() {
	total := int64(s.usedTotal())
	counted := s.p.sampler.profile.Counted(s.p.PID)
	all := int64(0)
	for _, ns := range counted {
		all += ns
	}
	stretch := min(max(float64(total)/float64(max(all, 1)), 1), s.p.sampler.mostStretch())
	firm := firmTicks * int64(s.p.sampler.tickPeriod())
	if s.p.sampler.looks != nil {
		firm = 1 // how often looks meet a thread does not tell how much it runs beside others
	}
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
	rest -= s.stretch(loose, sum, rest-s.unmet(counted), stretch)
	if period := int64(s.p.sampler.tickPeriod()); rest <= 4*period && all > 0 {
		for id := range counted {
			loose[id] = true
		}
		s.p.sampler.profile.Stretch(s.p.PID, loose, total) // so little time may be of threads that no tick has met
		return
	}
	s.unattributed(rest)
}

// unmet returns the processor time of threads that no look has met. Where there is no bound for a stretch, it must not go to
// what others do.
func (s *spending) unmet(counted map[profile.ThreadID]int64) (ns int64) {
	if s.p.sampler.looks == nil {
		return 0
	}
	for _, t := range s.p.roster.threads {
		if counted[t.id] == 0 {
			ns += int64(t.usage.used)
		}
	}
	return ns
}

// stretch stretches the counted processor time of some threads to what they have used, or as far as the
// bounds allow. It returns the resulting time.
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

// unattributed counts processor time that cannot be given to any place.
func (s *spending) unattributed(ns int64) {
	if ns <= 0 || s.p.space == nil {
		return
	}
	id := s.p.threadID(0, "[not sampled]")
	stack := s.p.space.Push(0, s.p.sampler.profile.Note("[not sampled]"))
	s.p.space.Add(s.p.space.Cell(id, stack), profile.Values{CPU: ns})
}

// keepTotal reads the processor time of the process, so that it is known after the end of the
// process. Reading takes longer with more threads. If it takes long, it is not done in each round. lossy says that records of
// ticks were lost.
func (s *spending) keepTotal(now time.Duration, lossy bool) {
	if s.p.CPU == nil || !s.totals.due(now) && !lossy {
		return
	}
	begun := s.p.sampler.clock.Now()
	if s.readTotal() {
		s.makeUpEnded(lossy)
	}
	s.totals.took(begun, s.p.sampler.clock.Now(), 100)
}

// tick notes that a tick has met a thread of the process.
func (s *spending) tick() {
	period := s.p.sampler.opt.Ticks.Period()
	s.sinceTotal += period
	s.missing.count(1, period)
}

// readTotal reads the processor time of the process. It reports false if that is not known: the process may have
// ended.
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

// keep is readTotal; if the process has ended it adds what ticks have counted.
func (s *spending) keep() {
	if !s.readTotal() {
		s.total, s.sinceTotal = s.total+s.sinceTotal, 0
	}
}

// usedTotal returns the processor time of the process since the beginning. It is the kernel's count up to
// the last reading, and the ticks' count after that.
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

// A budget bounds the share of time for a task that need not be done in each round.
type budget struct {
	next time.Duration
	free time.Duration // that may be spent beyond the share
}

func (b *budget) due(now time.Duration) bool { return now >= b.next }

// took records when the task was done. The task is due again after times its duration.
func (b *budget) took(begun, ended, times time.Duration) {
	cost := ended - begun
	free := min(cost, b.free)
	b.free -= free
	b.next = ended + times*(cost-free)
}
