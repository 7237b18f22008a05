package sample

import (
	"time"

	"ptools/internal/profile"
)

// Whether rounds find a thread running or asleep is not in proportion to how long it runs and sleeps. A round wakes on a
// processor, and may take it from the other end of a pipe. So the sampler is told by the kernel how the wall time is divided:
// schedstat has the time in which a thread has run, and that in which it was ready, which is to wait for a processor. The time
// between two rounds is divided by these, and rounds say only where the thread was:
//
//   ran     where timers meet it: it is owed to them, and paid in each round in which they do
//	ready   there as well if the round finds the thread running, otherwise where it sleeps
//	rest    where it sleeps. If the round finds it running, that is where a round finds it asleep next
//
// The kernel counts ready time when the thread gets a processor, which may be many rounds later. A thread that was not put on a
// processor between two rounds, of which the second finds it running, has not slept: it was ready, or ran and the kernel takes
// something else out of its running time (interrupts, a hypervisor). Without timers rounds stop the threads that run, and what
// a stop finds has all of the time.

// takeOf returns how much of the time left of a kind belongs to a place, at most a time.
func takeOf(left *int64, most int64) int64 {
	n := max(min(*left, most), 0)
	*left -= n
	return n
}

// owe counts the wall time between two rounds, of which the second finds the thread running.
func (t *thread) owe(wall int64) {
	ran := takeOf(&t.usage.ran, wall)
	t.wasReady()
	ready := takeOf(&t.usage.ready, wall-ran)
	rest := wall - ran - ready
	if t.usage.switched {
		t.debt.asleep, rest = t.debt.asleep+rest, 0
	}
	t.debt.values.Wall += ran + ready + rest
	t.debt.values.Ready += ready
	t.debt.unclear += rest
}

// wasReady counts ready time for earlier rounds that have found the thread running, before the kernel had counted it. It may
// have been taken for sleep.
func (t *thread) wasReady() {
	known := takeOf(&t.usage.ready, t.debt.unclear)
	t.debt.unclear -= known
	sleepless := takeOf(&t.usage.ready, t.debt.asleep)
	t.debt.asleep -= sleepless
	t.debt.values.Wall += sleepless
	t.debt.values.Ready += known + sleepless
}

// split counts the samples of n rounds that have found a thread asleep in its stack, and the wall time since the first.
func (a *account) split(t *thread, n int64) {
	t.wasReady()
	wall, ran := int64(a.last-t.view.since), int64(0)
	if a.p.sampler.opt.Ticks != nil {
		ran = takeOf(&t.usage.ran, wall)
		t.debt.values.Wall += ran
	}
	v := profile.Values{Samples: n, Wall: wall - ran + t.debt.asleep}
	v.Ready = takeOf(&t.usage.ready, wall-ran)
	t.debt.asleep = 0
	from := t.view.since - a.p.sampler.sched.start
	a.p.space.AddDuring(t.view.cell, v, from, from+time.Duration(wall-ran), false)
}

// restAsleep counts the time asleep of a thread that no round will find asleep any more, or not before the counts are read. It
// goes to where one has found it last, and if none has, the thread ran.
func (a *account) restAsleep(t *thread) {
	asleep := t.debt.asleep
	t.debt.asleep = 0
	switch {
	case asleep == 0:
	case t.view.counted:
		a.add(t, profile.Values{Wall: asleep})
	default:
		t.debt.values.Wall += asleep
	}
}

// restReady counts the ready time of a thread that has counted all its wall time.
func (a *account) restReady(t *thread) {
	n := takeOf(&t.usage.ready, t.usage.ready)
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
