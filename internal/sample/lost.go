package sample

import (
	"time"

	"ptools/internal/profile"
)

// The timers' buffers are full when they have not been read for some time: we were stopped, or were given no processor. What
// the threads did then is not known. Reconciled with the kernel's figures, it would be given to what they did before and
// afterwards. So the processor time that no tick has met is counted as [not sampled], for those rounds in which records
// were lost. In other rounds it is chance, or what timers do not see (reconcile.go).
//
// The round that finds the loss has read the buffer, and so may have the one before it: the kernel reports a loss with the
// first record that has room again, and we may be stopped between the reading of a buffer and that of the threads.

// unmet is the processor time of a thread or a process that no tick has met.
type unmet struct {
	met          int64 // ns that ticks have met
	last, before int64 // ns used less met, after the last two readings
	owed         int64 // ns that were lost, and are not yet a tick
}

// read takes over a reading of the time used. lossy says that records were lost since the reading before. It returns how many
// ticks there would have been.
func (u *unmet) read(used int64, lossy bool, period time.Duration) (ticks int64) {
	now := used - u.met
	if !lossy {
		u.before, u.last = u.last, now
		return 0
	}
	u.owed += now - u.before
	ticks = max(u.owed/int64(period), 0)
	u.count(ticks, period)
	u.owed -= ticks * int64(period)
	u.last = used - u.met
	u.before = u.last
	return ticks
}

// count counts ticks.
func (u *unmet) count(n int64, period time.Duration) { u.met += n * int64(period) }

// makeUp counts the ticks that were lost of threads whose processor time was just read, and reports whether records were
// lost at all since the last call.
func (k *ticking) makeUp(threads []*thread) (lossy bool) {
	p := k.p
	s := p.sampler
	if s.opt.Ticks == nil || s.looks != nil || p.space == nil {
		return false
	}
	lossy, k.losses = k.losses != s.losses, s.losses
	period := s.opt.Ticks.Period()
	for _, t := range threads {
		if n := t.usage.missing.read(int64(t.usage.used), lossy, period); n > 0 {
			p.space.Add(k.lostCell(t.id), profile.Values{CPU: n * int64(period)})
			k.hasMet(t)
			t.debt.lost += n
			p.spending.missing.count(n, period)
			k.sayLost(n)
		}
	}
	return lossy
}

// makeUpEnded counts the lost ticks of threads that are not known any more. The processor time of the process was just read.
func (s *spending) makeUpEnded(lossy bool) {
	k := &s.p.ticking
	if s.p.sampler.opt.Ticks == nil || s.p.sampler.looks != nil {
		return
	}
	period := s.p.sampler.opt.Ticks.Period()
	if n := s.missing.read(int64(s.total-s.base), lossy, period); n > 0 {
		s.unattributed(n * int64(period))
		k.sayLost(n)
	}
}

// sayLost notes how much was lost.
func (k *ticking) sayLost(ticks int64) {
	period := k.p.sampler.opt.Ticks.Period()
	k.p.sampler.cost.LostTime += time.Duration(ticks) * period
	if k.p.kin != nil {
		k.p.kin.ticked += time.Duration(ticks) * period
	}
}

// lostCell returns where a thread's lost ticks are counted.
func (k *ticking) lostCell(id profile.ThreadID) profile.Cell {
	return k.p.space.Cell(id, k.p.space.Push(0, k.p.sampler.unsampled()))
}

// timedLost is the processor time of a process with windows that was lost. It is under the lock of the Windows.
type timedLost struct {
	missing unmet
	losses  int64 // Windows.losses when the processor time was last read
	dropped int64 // ticks for which the backlog had no room
	known   bool  // the processor time has been read
}

// makeUp counts what was lost. The processor time was just read.
func (s *timed) makeUp() {
	l, w := &s.lost, s.w
	period := w.ticks.Period()
	if !l.known {
		used := int64(s.cpu) - l.missing.met
		l.missing.last, l.missing.before, l.losses, l.known = used, used, w.losses, true
	}
	if l.losses != w.losses {
		s.do(func() { s.execing.told = true }) // the record of an exec may be lost
	}
	n := l.missing.read(int64(s.cpu), l.losses != w.losses, period) + l.dropped
	l.losses, l.dropped = w.losses, 0
	if n == 0 {
		return
	}
	s.do(func() {
		if s.space != nil { // otherwise all its time is not sampled
			unsampled(s.profile, s.space, s.pid, n*int64(period))
			s.cost.LostTime += time.Duration(n) * period
		}
	})
}

// unsampled counts processor time of which it is not known where it was used.
func unsampled(p *profile.Profile, space *profile.Space, pid int, ns int64) {
	id := p.Thread(pid, 0, "[not sampled]")
	space.Add(space.Cell(id, space.Push(0, p.Note("[not sampled]"))), profile.Values{CPU: ns})
}

// lossy notes that records were lost. Of processes that rounds look at, these find out how much.
func (t *tree) lossy() {
	t.sweeps.due = true
	for _, k := range t.living {
		k.lossy = k.lossy || k.proc == nil
	}
	for _, list := range t.dead {
		for _, k := range list {
			k.lossy = true
		}
	}
}

// makeUp counts the processor time of a process that has ended, and that no tick has met.
func (t *tree) makeUp(k *kin) {
	lost := k.cpu() - k.ticked
	if !k.lossy || k.source || lost < t.ticks.Period() {
		return
	}
	k.ticked += lost
	id := t.sampler.profile.ThreadOf(k.id, 0, "[not sampled]")
	cell := t.space.Cell(id, t.space.Push(0, t.sampler.unsampled()))
	t.space.AddDuring(cell, profile.Values{CPU: int64(lost)}, max(k.born-t.start, 0), max(k.died-t.start, 0), false)
	t.sampler.cost.LostTime += lost
}
