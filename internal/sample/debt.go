package sample

import (
	"time"

	"ptools/internal/profile"
)

// debt is what rounds owe to the ticks of a thread: samples and wall time.
type debt struct {
	values  profile.Values
	asleep  int64          // wall time in which it slept between two rounds that found it running
	unclear int64          // wall time that is counted, in which it was ready or ran
	lost    int64          // ticks of this round that were lost
	fresh   []profile.Cell // where ticks of this round met it
	last    profile.Cell   // where the last tick met it, if ticked
	ticked  bool           // a tick met it in the present space
	paid    int64          // the last round in which ticks met it
}

// pay gives what rounds owe to a thread's ticks to the ticks of this round.
func (k *ticking) pay() {
	for _, t := range k.met {
		if k.settle(t, t.debt.fresh); len(t.debt.fresh) > 0 {
			t.debt.fresh, t.debt.paid = t.debt.fresh[:0], k.p.activity.number
		}
		t.debt.lost = 0
	}
	k.met = k.met[:0]
}

// part returns the first i of n parts of a value.
func part(of, i, n int64) int64 {
	return of/n*i + of%n*i/n // a time of hours has too many ns to be multiplied by the ticks in it
}

// settle divides what is owed among cells, and the ticks that were lost.
func (k *ticking) settle(t *thread, cells []profile.Cell) {
	d, n := &t.debt.values, int64(len(cells))+t.debt.lost
	if *d == (profile.Values{}) {
		return
	}
	ready := min(d.Ready, d.Wall) // what is left belongs to the wall time that ticks find next
	begun := k.p.account.last - k.p.sampler.sched.start - time.Duration(d.Wall)
	share := func(cell profile.Cell, i, j int64) { // of the parts i to j of n
		from, to := part(d.Wall, i, n), part(d.Wall, j, n)
		v := profile.Values{Samples: part(d.Samples, j, n) - part(d.Samples, i, n), Wall: to - from, Ready: part(ready, j, n) - part(ready, i, n)}
		k.p.space.AddDuring(cell, v, begun+time.Duration(from), begun+time.Duration(to), true)
	}
	for i, cell := range cells {
		share(cell, int64(i), int64(i)+1)
	}
	if t.debt.lost > 0 {
		share(k.lostCell(t.id), int64(len(cells)), n)
	}
	*d = profile.Values{Ready: d.Ready - ready}
}

// unseen returns the level of a thread that rounds have found running, and no tick. Without timers, a thread that was given
// no processor is one that could not be stopped.
func (k *ticking) unseen(t *thread) profile.Addr {
	s := k.p.sampler
	if s.looks == nil || t.usage.used > 0 {
		return s.unseen
	}
	s.cost.Refused += t.debt.values.Samples
	s.cost.Starved += t.debt.values.Samples
	return s.notStopped
}

// forgive handles the debt to a thread that no tick will meet any more, or not in this space. It
// gives it to the place where the last tick met the thread, or else to a stack of its own.
func (k *ticking) forgive(t *thread) {
	k.p.account.restAsleep(t)
	if t.debt.values.Samples != 0 || t.debt.values.Wall != 0 { // otherwise there is nothing to show
		cell := t.debt.last
		switch {
		case t.debt.ticked:
		case t.debt.values.Samples == 0 && t.view.counted: // no round has found it running
			k.p.account.add(t, profile.Values{})
			cell = t.view.cell
		default:
			cell = k.p.space.Cell(t.id, k.p.space.Push(0, k.unseen(t)))
		}
		k.settle(t, []profile.Cell{cell})
	}
	t.usage.ready += t.debt.values.Ready
	t.debt.values.Ready = 0
	t.debt.fresh, t.debt.ticked = t.debt.fresh[:0], false
}
