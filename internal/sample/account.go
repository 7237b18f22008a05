package sample

import (
	"math/bits"
	"time"

	"ptools/internal/profile"
)

// A thread's samples are counted when it leaves its stack, or has ended: until then
// each round adds one to those that are under way, and costs nothing for a thread that
// does not move.

// put begins to count for a thread in a stack.
func (p *process) put(t *thread, stack profile.StackID) {
	if t.counted && t.present && stack == t.stack {
		return
	}
	p.leave(t)
	if !t.counted || stack != t.stack {
		t.stack, t.counted, t.celled = stack, true, false
	}
	t.present, t.rounds, t.since = true, p.rounds, p.last
	p.present++
}

// add counts v for a thread in its stack.
func (p *process) add(t *thread, v profile.Values) {
	if !t.celled {
		t.cell, t.celled = p.space.Cell(t.id, t.stack), true
	}
	p.space.Add(t.cell, v)
}

// leave counts what a thread's samples of the rounds so far are, and no more until
// it is put somewhere again.
func (p *process) leave(t *thread) {
	if !t.present {
		return
	}
	t.present = false
	p.present--
	if n := p.rounds - t.rounds; n > 0 {
		p.add(t, profile.Values{Samples: n, Wall: int64(p.last - t.since)})
	}
}

// complete makes a round of what has been examined: every thread that has a stack
// gets a sample in it.
func (p *process) complete(now time.Duration, ticks int64) {
	wall := now - p.last
	p.last = now
	p.rounds += ticks
	s := p.sampler
	s.cost.Samples += int64(p.present) * ticks
	s.cost.Kept += int64(p.present) * ticks
	for _, t := range p.examined {
		switch {
		case t.verdict == running:
			t.debt.values.Samples += ticks
			t.debt.values.Wall += int64(wall)
			s.cost.Samples += ticks
		case t.present && t.verdict != skipped && t.verdict != keep:
			s.cost.Kept -= ticks
		default:
			continue
		}
		t.seen++
		if t.sighting != noSighting {
			p.see(t)
		}
		if s.opt.Ticks == nil && t.renameDue() {
			p.readName(t)
		}
	}
	p.ticking.pay()
	if s.opt.Ticks == nil && bits.OnesCount64(uint64(p.number)) == 1 {
		p.rename() // threads may be named by others, in their sleep
	}
	if s.opt.Each != nil {
		p.tell()
	}
}

// rename reads the names of all threads.
func (p *process) rename() {
	for _, t := range p.threads {
		p.readName(t)
	}
}

func (p *process) readName(t *thread) {
	if name, err := t.files.Comm(); err == nil {
		p.sampler.profile.Rename(t.id, name)
	}
}

// tell shows the samples of a round to whoever wants to see each.
func (p *process) tell() {
	s := p.sampler
	for _, t := range p.threads {
		stack := t.stack
		switch {
		case t.verdict == running && t.debt.paid == p.number:
			stack = t.shown
		case !t.present:
			continue // where it runs is not known yet
		}
		s.opt.Each(&Sample{
			PID: p.PID, TID: t.tid, Name: s.profile.ThreadName(t.id),
			Space: p.space, Stack: stack, Regs: &t.regs, Partial: t.partial, PC: t.pc, SP: t.sp,
		})
	}
}

// closeAccount counts what is under way, and reads what the threads have used.
func (p *process) closeAccount() {
	if p.image != nil && !p.ended() {
		p.enroll()
		if p.sampler.opt.Ticks == nil {
			p.rename()
		}
		p.crowd.read(len(p.threads))
		for _, t := range p.threads {
			if sched, err := p.crowd.schedStat(t); err == nil {
				p.saw(t, sched)
			} else {
				t.inexact = true
			}
		}
		p.crowd.forget()
	} else {
		for _, t := range p.threads {
			t.inexact = true // what it has used since the last round is not known
		}
	}
	for _, t := range p.threads {
		p.settleThread(t)
	}
	p.ticking.pay()
}
