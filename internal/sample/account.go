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
	if ticks > 1 {
		p.timers.spread(ticks, wall/time.Duration(ticks))
	}
	p.last = now
	p.rounds += ticks
	s := p.sampler
	s.cost.Samples += int64(p.present) * ticks
	s.cost.Kept += int64(p.present) * ticks
	for _, t := range p.examined {
		if t.present && t.verdict != skipped {
			p.charge(t, wall)
			if t.verdict != keep {
				s.cost.Kept -= ticks
			}
		}
	}
	if bits.OnesCount64(uint64(p.number)) == 1 {
		p.rename() // threads may be named by others, in their sleep
	}
	if s.opt.Each != nil {
		p.tell()
	}
}

// charge counts the processor time of a thread since its previous sample.
func (p *process) charge(t *thread, wall time.Duration) {
	if t.timer != nil && p.timers.trust.barred == 0 {
		p.timers.charge(t)
	} else if t.now.Run > t.run {
		ns := int64(t.now.Run - t.run)
		if t.seen == 0 {
			// Who calls exec takes over the number of the leader, with all the
			// time that was counted under his own.
			ns = min(ns, int64(wall))
		}
		p.charged += ns
		p.add(t, profile.Values{CPU: ns})
		t.run = t.now.Run
	}
	t.seen++
	if t.renameDue() {
		p.readName(t)
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
		if t.present {
			s.opt.Each(&Sample{
				PID: p.PID, TID: t.tid, Name: s.profile.ThreadName(t.id),
				Space: p.space, Stack: t.stack, Regs: &t.regs, Partial: t.partial, PC: t.pc, SP: t.sp,
			})
		}
	}
}

// settle counts the processor time of threads that have ended since their last
// sample: what the process had used at the beginning of the round less what its
// samples have counted. It goes to where those threads were last seen, of each no
// more than a round can hold, the rest, of threads that nobody saw, to a stack
// "[exited]".
func (p *process) settle(total, wall time.Duration) {
	gone := p.gone
	p.gone = gone[:0]
	rest := int64(total-p.base) - p.charged - p.timers.held()
	for i, t := range gone {
		if !t.counted || rest <= 0 {
			continue
		}
		ns := min(rest/int64(len(gone)-i), int64(wall))
		p.add(t, profile.Values{CPU: ns})
		p.charged += ns
		rest -= ns
	}
	clear(gone)
	if rest > 0 {
		id := p.sampler.profile.Thread(p.PID, 0, "[exited]")
		stack := p.space.Push(0, p.sampler.profile.Note("[exited]"))
		p.space.Add(p.space.Cell(id, stack), profile.Values{CPU: rest})
		p.charged += rest
	}
}

// closeAccount counts what is under way, and what threads have used since the last
// round where they were seen then, so that the samples add up to what the process
// used.
func (p *process) closeAccount() {
	for _, t := range p.threads {
		p.leave(t)
	}
	if p.image == nil || p.ended() {
		return
	}
	p.enroll()
	p.rename()
	total, ok := p.total()
	ok = ok && p.unsettled
	for _, t := range p.threads {
		sched, err := t.files.SchedStat()
		if err == nil && t.timer != nil {
			t.now = sched
			p.timers.drain(t)
			p.timers.charge(t)
		}
		if err != nil || !t.counted || sched.Run <= t.run {
			continue
		}
		ns := int64(sched.Run - t.run)
		t.run = sched.Run
		p.add(t, profile.Values{CPU: ns})
		p.charged += ns
	}
	if ok {
		p.settle(total, p.sampler.opt.Period)
	}
}

// used returns the processor time of the process since the beginning, as the
// kernel counts it, or else as the samples do.
func (p *process) used() time.Duration {
	if p.CPU != nil {
		if total, err := p.CPU(); err == nil && int64(total-p.base) > p.charged {
			return total - p.base
		}
	}
	return time.Duration(p.charged)
}
