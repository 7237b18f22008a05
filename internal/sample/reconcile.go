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

// reconcile makes the processor time that was counted what the process has used.
func (p *process) reconcile() {
	total := int64(p.usedTotal())
	counted := p.sampler.profile.Counted(p.PID)
	all := int64(0)
	for _, ns := range counted {
		all += ns
	}
	stretch := min(max(float64(total)/float64(max(all, 1)), 1), maxStretch)
	firm := firmTicks * int64(p.sampler.tickPeriod())
	rest, loose := total, make(map[profile.ThreadID]bool)
	for id, ns := range counted {
		loose[id] = ns > 0
	}
	for _, t := range p.threads {
		if used := int64(t.used); counted[t.id] >= firm && used <= rest && !t.inexact {
			rest -= p.stretch(map[profile.ThreadID]bool{t.id: true}, counted[t.id], used, stretch)
			delete(loose, t.id)
		}
	}
	sum := int64(0)
	for id := range loose {
		sum += counted[id]
	}
	rest -= p.stretch(loose, sum, rest, stretch)
	if period := int64(p.sampler.tickPeriod()); rest <= 4*period && all > 0 {
		for id := range counted {
			loose[id] = true
		}
		p.sampler.profile.Stretch(p.PID, loose, total) // so little may be of threads that no tick has met
		return
	}
	p.unattributed(rest)
}

// stretch makes the processor time of some threads, counted until now, what they have used, or as much of
// it as they can have. It returns how much that is.
func (p *process) stretch(threads map[profile.ThreadID]bool, counted, used int64, by float64) int64 {
	if counted == 0 {
		return 0
	}
	period := float64(p.sampler.tickPeriod())
	chance := 4*math.Sqrt(float64(counted)*period) + 4*period // four standard deviations, and four ticks
	used = max(min(used, int64(float64(counted)*by+chance)), 0)
	p.sampler.profile.Stretch(p.PID, threads, used)
	return used
}

// unattributed counts processor time of which nothing else is known.
func (p *process) unattributed(ns int64) {
	if ns <= 0 || p.space == nil {
		return
	}
	id := p.sampler.profile.Thread(p.PID, 0, "[not sampled]")
	stack := p.space.Push(0, p.sampler.profile.Note("[not sampled]"))
	p.space.Add(p.space.Cell(id, stack), profile.Values{CPU: ns})
}

// keepTotal reads what the process has used, so that it is known when the process has ended. It takes
// the longer the more threads there are, so it is not done in each round where it takes long.
func (p *process) keepTotal(now time.Duration) {
	if p.CPU == nil || !p.totals.due(now) {
		return
	}
	begun := p.sampler.clock.Now()
	p.readTotal()
	p.totals.took(begun, p.sampler.clock.Now(), 100)
}

// readTotal reads what the process has used. It reports false if that is not known: it may have ended.
func (p *process) readTotal() bool {
	if p.CPU == nil {
		return false
	}
	total, err := p.CPU()
	if err == nil {
		p.total, p.sinceTotal = total, 0
	}
	p.exact = err == nil
	return p.exact
}

// usedTotal is the processor time of the process since the beginning: as the kernel counts it and, of what
// came after it was last asked, as ticks do.
func (p *process) usedTotal() time.Duration {
	if p.exact {
		return p.total - p.base
	}
	used := time.Duration(0)
	for _, t := range p.threads {
		used += time.Duration(t.used)
	}
	if p.CPU == nil {
		return used
	}
	return max(p.total+p.sinceTotal-p.base, used)
}

// A budget bounds how much of the time something takes that need not be done in each round.
type budget struct{ next time.Duration }

func (b *budget) due(now time.Duration) bool { return now >= b.next }

// took says when it has been done; so many times as long it is not due again.
func (b *budget) took(begun, ended, times time.Duration) { b.next = ended + times*(ended-begun) }
