package sample

import (
	"ptools/internal/procfs"
	"ptools/internal/unwind"
)

// passiveTries bounds how often a thread that keeps waking is looked at from
// outside in one round.
const passiveTries = 2

// passive takes the stack of a blocked thread without stopping it. The thread
// was not running when the kernel wrote call, so t.now, read before that, holds
// for the stack if it holds after it was read.
func (p *process) passive(t *thread, call procfs.Syscall) {
	for range passiveTries {
		if call.PC == 0 && call.SP == 0 {
			// A dead leader whose threads live on has no stack.
			t.verdict, t.know = skipped, moving
			p.leave(t)
			p.stir(t)
			return
		}
		state, end := p.readBlocked(t, call)
		p.metIn(t, &call, state)
		after, err := t.files.SchedStat()
		if err != nil {
			p.lose(t)
			return
		}
		if after == t.now {
			p.accept(t, call, state, end)
			return
		}
		p.saw(t, after)
		if call, err = t.files.Syscall(); err != nil || call.Running {
			break
		}
	}
	spoils := p.spoils(&call)
	switch {
	case call.Running && p.sampler.opt.Ticks != nil:
		p.ticking.runs(t)
		return
	case call.Running || !spoils && p.sampler.opt.Ticks == nil:
		p.want(t)
		return
	}
	// It is never stopped and never sits still: of this moment only the
	// system call is certain.
	p.levels = append(p.levels[:0], p.note(call.Nr))
	t.know, t.call = moving, call
	p.took(t, unwind.Unreadable)
}

// readBlocked unwinds a blocked thread's stack into p.levels and returns its
// state.
func (p *process) readBlocked(t *thread, call procfs.Syscall) (state byte, end unwind.End) {
	s := &p.snap
	s.Partial, s.PC, s.SP = true, call.PC, call.SP
	t.learnStack(p.image, s.SP)
	t.readStack(p.image, s, p.buf)
	state = 'S'
	if stat, err := t.files.Stat(); err == nil {
		state = stat.State
	}
	return state, p.unwindBlocked(t, s, call, state)
}

// unwindBlocked unwinds a blocked thread's stack, which s has, into p.levels.
func (p *process) unwindBlocked(t *thread, s *Snapshot, call procfs.Syscall, state byte) (end unwind.End) {
	p.levels = p.levels[:0]
	switch {
	case state == 'T' || t.halted(state):
		p.levels = append(p.levels, p.sampler.stopped)
	case call.Nr >= 0:
		p.levels = append(p.levels, p.note(call.Nr))
	}
	p.levels, end = p.image.Unwind(s, p.levels)
	return end
}

// accept makes what readBlocked saw the thread's stack, and has the thread
// stopped if that is worth it and does no harm: registers that the kernel does
// not show are needed, its call restarts by itself, and it will answer.
func (p *process) accept(t *thread, call procfs.Syscall, state byte, end unwind.End) {
	t.call, t.state = call, state
	t.sched, t.know = t.now, still
	if state == 't' && !t.inTrace {
		t.know = moving // see halted
	}
	t.inTrace = state == 't'
	t.partial, t.pc, t.sp = true, call.PC, call.SP
	stop := end == unwind.NoRegister && p.sampler.opt.Ticks == nil && !p.spoils(&call) && !p.waryOf(t) && state != 'D' && !t.inTrace
	if !stop {
		p.sampler.cost.Passive++
		p.took(t, end)
		return
	}
	// What is known stands until the look succeeds.
	p.took(t, end)
	p.sampler.cost.Ends[end]--
	t.know = moving
	p.want(t)
}
