package sample

import (
	"math/bits"
	"time"

	"ptools/internal/profile"
)

// A thread's samples are counted when it leaves its stack or ends. Until then each
// round adds one to its pending samples, and costs nothing for a thread that does not
// move.

// account counts the samples of a process's threads.
type account struct {
	p       *process
	present int           // threads that have a sample in each round
	rounds  int64         // completed
	last    time.Duration // time of the previous round
}

// put begins to count for a thread in a stack.
func (a *account) put(t *thread, stack profile.StackID) {
	if t.view.counted && t.view.present && stack == t.view.stack {
		return
	}
	a.leave(t)
	if !t.view.counted || stack != t.view.stack {
		t.view.stack, t.view.counted, t.view.celled = stack, true, false
	}
	t.view.present, t.view.rounds, t.view.since = true, a.rounds, a.last
	a.present++
}

// add counts v for a thread in its stack.
func (a *account) add(t *thread, v profile.Values) {
	if !t.view.celled {
		t.view.cell, t.view.celled = a.p.space.Cell(t.id, t.view.stack), true
	}
	a.p.space.Add(t.view.cell, v)
}

// leave counts a thread's samples of the rounds so far. After that the thread gets
// none until it is put into a stack again.
func (a *account) leave(t *thread) {
	if !t.view.present {
		return
	}
	t.view.present = false
	a.present--
	if n := a.rounds - t.view.rounds; n > 0 {
		a.add(t, profile.Values{})
		a.split(t, n)
	}
}

// flush counts the samples of the rounds so far.
func (a *account) flush() {
	for _, t := range a.p.roster.threads {
		if stack := t.view.stack; t.view.present {
			a.leave(t)
			a.put(t, stack)
		}
		a.restAsleep(t)
	}
}

// complete completes a round: every thread that has a stack gets a sample in it.
func (a *account) complete(now time.Duration, ticks int64) {
	wall := now - a.last
	a.last = now
	a.rounds += ticks
	s := a.p.sampler
	s.cost.Samples += int64(a.present) * ticks
	s.cost.Kept += int64(a.present) * ticks
	for _, t := range a.p.activity.examined {
		switch {
		case t.turn.verdict == running:
			t.debt.values.Samples += ticks
			t.owe(int64(wall))
			s.cost.Samples += ticks
		case t.view.present && t.turn.verdict != skipped && t.turn.verdict != keep:
			s.cost.Kept -= ticks
		default:
			continue
		}
		t.seen++
		if t.turn.sighting != noSighting {
			a.p.spending.see(t)
		}
		if s.stops() && t.renameDue() {
			a.p.roster.readName(t)
		}
	}
	for _, t := range a.p.activity.examined {
		t.usage.switched = false
	}
	a.divide()
	a.p.ticking.pay()
	if s.stops() && bits.OnesCount64(uint64(a.p.activity.number)) == 1 {
		a.p.roster.rename()     // another thread may name a thread that sleeps
		a.p.roster.stale = true // workers of the kernel come without a word
	}
	if s.opt.Each != nil {
		a.tell()
	}
}

// divide counts what is pending of the threads that ticks of this round have met. So the time that a thread has run goes to the
// ticks of the round that it ran in. A thread that each round finds asleep in one stack would have few payments, each of a long
// time to the ticks of one round.
func (a *account) divide() {
	for _, t := range a.p.ticking.met {
		if stack := t.view.stack; t.view.present {
			a.leave(t)
			a.put(t, stack)
		}
	}
}

// tell passes each sample of a round to Options.Each.
func (a *account) tell() {
	s := a.p.sampler
	for _, t := range a.p.roster.threads {
		stack := t.view.stack
		switch {
		case t.turn.verdict == running && t.debt.paid == a.p.activity.number:
			stack = t.shown
		case !t.view.present:
			continue // where it runs is not known yet
		}
		s.opt.Each(&Sample{
			PID: a.p.PID, TID: t.tid, Name: s.profile.ThreadName(t.id),
			Space: a.p.space, Stack: stack, Regs: &t.lastRegs.regs, Partial: t.lastRegs.partial, PC: t.lastRegs.pc, SP: t.lastRegs.sp,
		})
	}
}

// close counts the pending samples, and reads the processor time of the threads.
func (a *account) close() {
	if a.p.image != nil && !a.p.ended() {
		a.p.roster.enroll()
		if a.p.sampler.stops() {
			a.p.roster.rename()
		}
		a.p.crowd.read(len(a.p.roster.threads))
		for _, t := range a.p.roster.threads {
			if sched, err := a.p.crowd.schedStat(t); err == nil {
				a.p.activity.saw(t, sched)
			} else {
				t.usage.inexact = true
			}
		}
		a.p.crowd.forget()
	} else {
		for _, t := range a.p.roster.threads {
			t.usage.inexact = true // its processor time since the last round is not known
		}
	}
	lossy := a.p.ticking.makeUp(a.p.roster.threads)
	for _, t := range a.p.roster.threads {
		a.p.settleThread(t)
	}
	a.p.ticking.pay()
	if a.p.spending.exact {
		a.p.spending.makeUpEnded(lossy)
	}
}
