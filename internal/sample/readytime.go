package sample

import "ptools/internal/profile"

// A thread that could run, but for which there is no processor, is ready. The kernel counts that time in schedstat when
// the thread gets a processor. It is a part of the wall time: of the place where ticks met the thread then, if rounds have
// found it running meanwhile, and otherwise of the place where it waited before.

// takeReady returns how much of the ready time that is still to be counted belongs to a place, at most a time.
func (t *thread) takeReady(most int64) int64 {
	n := max(min(t.usage.ready, most), 0)
	t.usage.ready -= n
	return n
}

// restReady counts the ready time of a thread that has counted all its wall time.
func (a *account) restReady(t *thread) {
	n := t.takeReady(t.usage.ready)
	if n == 0 || a.p.space == nil {
		return
	}
	if t.view.counted {
		a.add(t, profile.Values{Ready: n})
		return
	}
	s := a.p.space
	s.Add(s.Cell(t.id, s.Push(0, a.p.sampler.unseen)), profile.Values{Ready: n})
}
