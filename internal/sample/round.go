package sample

import (
	"context"
	"time"

	"ptools/internal/profile"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// maxStack is how much of a stack is copied.
const maxStack = 64 << 10

// round takes one sample of each thread for the last of some ticks. It takes samples for
// the ticks before it as well, if it knows all that has happened since.
func (p *process) round(ctx context.Context, now time.Duration, ticks int64) {
	p.calm, p.ticks = false, ticks
	if s := p.sampler; s.opt.Ticks != nil && s.looks == nil && p.image != nil && p.image.Stale() && p.ticking.execing.untold() {
		return
	}
	if (p.image == nil || p.image.Stale()) && !p.renew() {
		return
	}
	p.roster.enroll()
	p.looking.wanted, p.looking.maybe = p.looking.wanted[:0], p.looking.maybe[:0]
	before := p.activity.switches
	p.locks.Begin(p.account.last)
	p.activity.examineAll()
	p.locks.Rest()
	p.calm = p.activity.isCalm(&before)
	if len(p.looking.wanted)+len(p.looking.maybe) > 0 {
		if err := p.looking.look(ctx); err != nil {
			if !p.endedBy(err) {
				p.over, p.err = true, err
			}
			return
		}
	}
	if !p.calm {
		ticks = 1
	}
	p.locks.Finish(now)
	lossy := p.ticking.makeUp(p.activity.examined)
	p.account.complete(now, ticks)
	p.goroutines.count()
	p.spending.keepTotal(now, lossy)
	if p.looking.looker != nil {
		p.looking.looker.warm()
	}
	if p.namer.idle() && p.refresh.remap(p.mapped(), p.refresh.due(now), now) {
		p.lookAgain()
	}
	p.namer.step(p.space)
}

// examine looks at a thread from outside, and says whether it waits for a lock.
func (p *process) examine(t *thread) {
	p.judge(t)
	p.contend(t)
}

// judge decides what a thread's sample needs, and takes it unless the thread
// has to be stopped.
func (p *process) judge(t *thread) {
	sched, err := p.crowd.schedStat(t)
	if err != nil {
		p.roster.lose(t)
		return
	}
	p.activity.saw(t, sched)
	t.looked = true
	t.turn.visited = 0
	p.activity.examined = append(p.activity.examined, t)
	if t.blocked.know == still && sched == t.blocked.sched {
		t.turn.verdict = keep
		return
	}
	t.blocked.state, t.turn.burst, t.turn.sighting, t.turn.recheck, t.turn.waits = 0, 0, noSighting, false, false
	call, err := t.files.Syscall()
	if call.Nr == restartSyscall {
		call.Nr = p.outside.restarted(t, call.PC, call.SP)
	}
	switch {
	case err != nil && vanished(err):
		p.roster.lose(t)
	case err == nil && call.Running && p.sampler.opt.Ticks != nil:
		p.ticking.runs(t)
	case err != nil:
		p.outside.examineHidden(t)
		p.maybeRuns(t)
	case call.Running:
		p.want(t)
	case t.blocked.know == disturbed && t.explained(call, sched):
		t.blocked.know, t.blocked.sched, t.turn.verdict = still, sched, keep
	default:
		p.outside.passive(t, call)
		p.maybeRuns(t)
	}
}

// maybeRuns marks a thread that has run since the round before and now waits. It is looked at once more right
// before others are stopped.
func (p *process) maybeRuns(t *thread) {
	if t.turn.verdict == taken && t.seen > 0 && p.sampler.opt.Ticks == nil && !p.looking.waryOf(t) {
		t.turn.recheck = true
		p.looking.maybe = append(p.looking.maybe, t)
	}
}

// want puts a thread on the list of threads to stop. With ticks no thread is stopped: its sample is what can
// be seen without a stop.
func (p *process) want(t *thread) {
	switch {
	case p.sampler.opt.Ticks != nil:
		p.outside.notSeen(t)
		return
	case p.looking.waryOf(t):
		p.looking.leaveRunning(t)
		return
	}
	if p.looking.over {
		p.outside.notSeen(t) // stays if it cannot be stopped
		t.turn.ran = true
		p.looking.early = append(p.looking.early, t)
		return
	}
	t.turn.verdict = wanted
	p.looking.wanted = append(p.looking.wanted, t)
}

// took gives a thread the stack in p.levels.
func (p *process) took(t *thread, end unwind.End) { p.show(t, p.space.Stack(p.outside.levels), end) }

// show gives a thread a stack.
func (p *process) show(t *thread, stack profile.StackID, end unwind.End) {
	p.sampler.cost.Ends[end]++
	t.view.end = end
	p.refresh.needed = p.refresh.needed || source.RanOut(end)
	t.turn.verdict = taken
	p.account.put(t, stack)
	p.activity.stir(t)
}
