package sample

import (
	"time"

	"ptools/internal/futex"
	"ptools/internal/profile"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// holderTries bounds how often the look at a holder that moves is repeated, and at a lock that changes hands.
const holderTries = 3

// freshness is how long the last found holder of a lock is assumed to hold it, when another thread is found that waits
// for it.
const freshness = 50 * time.Microsecond

// ask finds out which thread holds the lock that a thread waits for, right after the thread was seen to wait. The
// longer that takes, the more often the lock has another owner by then, perhaps the waiting thread. Without timers
// a running holder is found when it is stopped.
func (b *blame) ask(w *waiter) {
	b.name(w)
	if b.collect(w); w.group == nil {
		return
	}
	g, now := w.group, b.p.sampler.clock.Now()
	if g.holder == answered && now-g.asked > freshness && !b.isSame(g) {
		g.holder = notFound
	}
	switch {
	case g.holder != notFound:
	case b.p.sampler.opt.Ticks == nil:
		b.findAsleep(g)
	default:
		b.accuse(g)
	}
	g.asked = now
	w.answer, w.answered = g.answer, g.holder == answered
}

// isSame reports whether the answer for a lock is still true.
func (b *blame) isSame(g *group) bool {
	switch g.answer.why {
	case "":
		return b.stillHolds(g)
	case free, changedHands:
		return false
	}
	return true
}

// findAsleep finds out which thread is to blame for the waits of a group, if the holder sleeps. It is called before
// running threads are stopped. That takes milliseconds when processors are short, and the lock changes hands
// meanwhile. A running holder is among the threads to stop.
func (b *blame) findAsleep(g *group) {
	b.learn(g)
	if g.answer = b.accused(g); g.answer.why == "" {
		g.holder = answered
	}
}

// accuse finds out which thread is to blame for the waits of a group. If the lock changes hands meanwhile, it
// looks for the next holder, for which the other threads of the group wait.
func (b *blame) accuse(g *group) {
	was := g.lock.Owner
	for range holderTries {
		switch g.holder {
		case answered:
			return
		case notFound:
			b.learn(g)
		}
		if g.answer = b.accused(g); g.answer.why != changedHands {
			break
		}
		g.holder = notFound
	}
	if g.answer.why == notSeen && was != 0 && was != g.lock.Owner {
		g.answer.why = changedHands
	}
	g.holder = answered
}

// accused returns the thread that holds a lock, and its stack.
func (b *blame) accused(g *group) charge {
	l := &g.lock
	switch {
	case l.Why == futex.Free:
		return charge{why: free}
	case l.Why != "":
		return charge{why: l.Why}
	case l.Dead:
		return charge{why: ownerEnded}
	case l.OwnerAt == 0:
		return charge{why: l.Kind.String()}
	}
	t, p := b.owner(l.Owner)
	if t == nil {
		return charge{why: b.unknownOwner(g)}
	}
	stack, why := b.stackOf(p, t, g)
	if why != "" {
		return charge{why: why}
	}
	return charge{p: p, stack: stack, t: t, holds: place{l.Addr, l.Kind}}
}

// follow returns which thread is to blame, if the holder may wait itself.
func (b *blame) follow(w *waiter) charge {
	c := w.answer
	for range b.order {
		if c.t == nil || c.p != b.p {
			return c
		}
		if c.t == w.t && c.stack != w.stack {
			return charge{why: changedHands} // the thread holds the lock itself by now
		}
		next := b.waiters[c.t]
		if next == nil || next.group == nil || next.stack != c.stack || next.answer.why != "" {
			return c // the holder does not wait, or waits for a lock whose holder is not known
		}
		c = next.answer
	}
	c = w.answer
	c.why = deadlocked
	return c
}

// unknownOwner returns what is known about an owner that is not sampled.
func (b *blame) unknownOwner(g *group) string {
	pid := b.processOf(g.lock.Owner)
	switch {
	case !b.stillHolds(g):
		return changedHands
	case pid == 0:
		return ownerEnded
	case pid == b.p.PID:
		return notSeen // it is so new
	}
	return elsewhere
}

// stackOf returns the stack that a thread has while it holds a lock. No thread is stopped.
func (b *blame) stackOf(p *process, t *thread, g *group) (stack profile.StackID, why string) {
	if g.holder == standing {
		return t.view.stack, ""
	}
	for range holderTries {
		if t.view.present && t.blocked.know == still {
			b.complete(p, t)
			if sched, err := t.files.SchedStat(); err == nil && sched == t.blocked.sched {
				return t.view.stack, b.unlessChanged(g)
			}
		}
		stack, why, ok := b.look(p, t, g)
		if ok {
			return stack, why
		}
		if !b.stillHolds(g) {
			return 0, changedHands
		}
	}
	return 0, notSeen
}

// unlessChanged returns why no thread is blamed: changedHands if the lock has another owner by now.
func (b *blame) unlessChanged(g *group) string {
	if !b.stillHolds(g) {
		return changedHands
	}
	return ""
}

// look takes the stack of a thread that has moved since the round has seen it. ok is false if it moved again
// meanwhile.
func (b *blame) look(p *process, t *thread, g *group) (stack profile.StackID, why string, ok bool) {
	before, err := t.files.SchedStat()
	if err != nil {
		return 0, ownerEnded, true
	}
	call, err := t.files.Syscall()
	if err != nil {
		return 0, notSeen, true
	}
	if call.Running {
		return b.lookRunning(p, t, g)
	}
	if call.PC == 0 {
		return 0, ownerEnded, true
	}
	if call.Nr == restartSyscall {
		call.Nr = p.outside.restarted(t, call.PC, call.SP)
	}
	p.outside.readBlocked(t, call)
	if after, err := t.files.SchedStat(); err != nil || after != before {
		return 0, "", false
	}
	return p.space.Stack(p.outside.levels), b.unlessChanged(g), true
}

// lookRunning takes the stack of a thread that runs, from the processor that it runs on, or waits for one.
func (b *blame) lookRunning(p *process, t *thread, g *group) (stack profile.StackID, why string, ok bool) {
	peek := p.sampler.opt.Blame.Peek
	if peek == nil {
		return 0, notSeen, true
	}
	stat, err := t.files.Stat()
	if err != nil {
		return 0, ownerEnded, true
	}
	s := &p.outside.snap
	if q := peek(stat.Processor, t.tid, g.lock.OwnerAt); q != nil {
		if !futex.Holds(q.Word, g.lock.Owner) {
			return 0, changedHands, true
		}
		s.Regs.SetSaved(&q.Regs)
		s.Base, s.Stack = q.Base, q.Stack
		return b.unwindRunning(p, s), "", true
	}
	if !p.crowd.open() {
		return 0, notSeen, true
	}
	r, err := p.crowd.tasks.One(t.tid)
	if err != nil || r == nil {
		return 0, notSeen, true
	}
	if r.State != 'R' || r.OnCPU || r.Regs.SP() == 0 {
		return 0, "", false // it has moved on
	}
	s.Regs = r.Regs
	s.SP = r.Regs.SP()
	t.learnStack(p.image, s.SP)
	p.outside.readStack(t)
	if after, err := t.files.SchedStat(); err != nil || after != schedOf(r) {
		return 0, "", false
	}
	return b.unwindRunning(p, s), b.unlessChanged(g), true
}

// complete unwinds the stack of a sleeping thread to its end, if that needs registers that the thread's files do not
// show.
func (b *blame) complete(p *process, t *thread) {
	if t.view.end != unwind.NoRegister || p.crowd.tasks == nil {
		return
	}
	r, err := p.crowd.tasks.One(t.tid)
	if err != nil || r == nil || r.State == 'R' || r.Regs.SP() == 0 || schedOf(r) != t.blocked.sched {
		return
	}
	s, call := &p.outside.snap, callOf(r)
	if call.Nr == restartSyscall {
		call.Nr = p.outside.restarted(t, call.PC, call.SP)
	}
	s.Partial, s.Regs, s.PC, s.SP = false, r.Regs, call.PC, call.SP
	t.learnStack(p.image, s.SP)
	p.outside.readStack(t)
	end := p.outside.unwindBlocked(t, s, call, r.State)
	if after, err := t.files.SchedStat(); err != nil || after != t.blocked.sched {
		return
	}
	t.view.end = end
	p.account.put(t, p.space.Stack(p.outside.levels))
}

// unwindRunning returns the stack of a thread whose registers are all known.
func (b *blame) unwindRunning(p *process, s *source.Capture) profile.StackID {
	s.PC, s.SP, s.Partial, s.Chain, s.Late = s.Regs.PC(), s.Regs.SP(), false, nil, false
	levels := p.outside.levels[:0]
	if nr, _, inCall := s.Regs.SyscallReturn(); inCall {
		levels = append(levels, p.outside.note(nr))
	}
	levels, end := p.image.Unwind(s, levels)
	levels, _ = cutBeyond(&p.sampler.cost, s, levels, end)
	p.outside.levels = levels
	return p.space.Stack(levels)
}
