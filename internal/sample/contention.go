package sample

import (
	"ptools/internal/futex"
	"ptools/internal/locks"
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// Blame has a sampler find out which threads hold the locks that others wait for (internal/locks).
type Blame struct {
	// Peek looks at a thread that runs on a processor. Nil: with timers nothing is known of a running holder;
	// without timers running threads are stopped anyway.
	Peek func(cpu, tid int, word uint64) *perfevent.Peeked
}

// newLocks returns the table of a process, nil without Options.Blame.
func newLocks(p *process) *locks.Table {
	s := p.sampler
	if s.opt.Blame == nil {
		return nil
	}
	return locks.New(lockedIn{p}, locks.Options{PID: p.PID, Profile: s.profile, Now: s.clock.Now, Stops: s.opt.Ticks == nil})
}

// lockedIn is a process as its locks see it.
type lockedIn struct{ p *process }

// Thread implements locks.Process.
func (l lockedIn) Thread(tid int) locks.Thread {
	if t := l.p.roster.byTID[tid]; t != nil {
		return t
	}
	return nil
}

// Other implements locks.Process.
func (l lockedIn) Other(tid int) locks.Thread {
	for _, p := range l.p.sampler.processes {
		if t := p.roster.byTID[tid]; t != nil && p.image != nil {
			return t
		}
	}
	return nil
}

// Threads implements locks.Process.
func (l lockedIn) Threads() (tids []int, generation uint64) {
	for _, t := range l.p.roster.threads {
		tids = append(tids, t.tid)
	}
	return tids, l.p.roster.made
}

// Settle implements locks.Process.
func (l lockedIn) Settle() { l.p.refresh.settle(l.p.mapped()) }

// contend says whether a thread waits for a lock, after a round has examined it.
func (p *process) contend(t *thread) {
	if p.locks == nil || p.image.Is32Bit() || p.roster.byTID[t.tid] != t {
		return
	}
	since := p.account.last
	if t.turn.verdict == keep {
		if p.locks.Still(t) {
			return
		}
		since = t.view.since
	} else {
		p.locks.Left(t)
	}
	if !t.view.present || t.blocked.know == moving || t.turn.verdict == running || t.turn.verdict == wanted {
		return
	}
	t.complete()
	s := locks.Sleep{Stack: t.view.stack, Since: since}
	switch {
	case t.blocked.call == concealed:
		if !unharmed[t.blocked.where] || t.blocked.where[:min(5, len(t.blocked.where))] != futex.Name {
			return
		}
	case procfs.SyscallName(t.blocked.call.Nr) == futex.Name:
		s.Args = &t.blocked.call.Args
	default:
		return
	}
	p.locks.Sleeps(t, s)
}

// TID implements locks.Thread.
func (t *thread) TID() int { return t.tid }

// ID implements locks.Thread.
func (t *thread) ID() profile.ThreadID { return t.id }

// Space implements locks.Thread.
func (t *thread) Space() *profile.Space { return t.p.space }

// Shown implements locks.Thread.
func (t *thread) Shown() profile.StackID { return t.view.stack }

// Look implements locks.Thread.
func (t *thread) Look(l *futex.Lock) locks.Sight {
	if t.view.present && t.blocked.know == still {
		t.complete()
		if sched, err := t.files.SchedStat(); err == nil && sched == t.blocked.sched {
			return locks.Sight{Stack: t.view.stack}
		}
	}
	return t.lookAtOwner(l)
}

// lookAtOwner takes the stack of a thread that has moved since the round has seen it.
func (t *thread) lookAtOwner(l *futex.Lock) locks.Sight {
	before, err := t.files.SchedStat()
	if err != nil {
		return locks.Sight{Why: locks.OwnerEnded}
	}
	call, err := t.files.Syscall()
	switch {
	case err != nil:
		return locks.Sight{Why: locks.NotSeen}
	case call.Running:
		return t.lookRunning(l)
	case call.PC == 0:
		return locks.Sight{Why: locks.OwnerEnded}
	}
	if call.Nr == restartSyscall {
		call.Nr = t.p.outside.restarted(t, call.PC, call.SP)
	}
	t.p.outside.readBlocked(t, call)
	if after, err := t.files.SchedStat(); err != nil || after != before {
		return locks.Sight{Moved: true}
	}
	return locks.Sight{Stack: t.p.space.Stack(t.p.outside.levels)}
}

// lookRunning takes the stack of a thread that runs, from the processor that it runs on, or waits for one.
func (t *thread) lookRunning(l *futex.Lock) locks.Sight {
	p := t.p
	peek := p.sampler.opt.Blame.Peek
	if peek == nil {
		return locks.Sight{Why: locks.NotSeen}
	}
	stat, err := t.files.Stat()
	if err != nil {
		return locks.Sight{Why: locks.OwnerEnded}
	}
	s := &p.outside.snap
	if q := peek(stat.Processor, t.tid, l.OwnerAt); q != nil {
		if !futex.Holds(q.Word, l.Owner) {
			return locks.Sight{Why: locks.ChangedHands}
		}
		s.Regs.SetSaved(&q.Regs)
		s.Base, s.Stack = q.Base, q.Stack
		return locks.Sight{Stack: p.outside.unwindRunning(s), Held: true}
	}
	if !p.crowd.open() {
		return locks.Sight{Why: locks.NotSeen}
	}
	r, err := p.crowd.tasks.One(t.tid)
	if err != nil || r == nil {
		return locks.Sight{Why: locks.NotSeen}
	}
	if r.State != 'R' || r.OnCPU || r.Regs.SP() == 0 {
		return locks.Sight{Moved: true}
	}
	s.Regs = r.Regs
	s.SP = r.Regs.SP()
	t.learnStack(p.image, s.SP)
	p.outside.readStack(t)
	if after, err := t.files.SchedStat(); err != nil || after != schedOf(r) {
		return locks.Sight{Moved: true}
	}
	return locks.Sight{Stack: p.outside.unwindRunning(s)}
}

// complete unwinds the stack of a sleeping thread to its end, if that needs registers that the thread's files do not
// show.
func (t *thread) complete() {
	p := t.p
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
func (o *outside) unwindRunning(s *source.Capture) profile.StackID {
	s.PC, s.SP, s.Partial, s.Chain, s.Late = s.Regs.PC(), s.Regs.SP(), false, nil, false
	levels := o.levels[:0]
	if nr, _, inCall := s.Regs.SyscallReturn(); inCall {
		levels = append(levels, o.note(nr))
	}
	levels, end := o.p.image.Unwind(s, levels)
	levels, _ = cutBeyond(&o.p.sampler.cost, s, levels, end)
	o.levels = levels
	return o.p.space.Stack(levels)
}
