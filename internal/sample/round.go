package sample

import (
	"context"
	"time"

	"ptools/internal/profile"
	"ptools/internal/unwind"
)

// maxStack is how much of a stack is copied.
const maxStack = 64 << 10

// round takes one sample of each thread for the last of some ticks, and for those before it
// as well if nothing has happened that it does not know of.
func (p *process) round(ctx context.Context, now time.Duration, ticks int64) {
	p.calm, p.ticks = false, ticks
	if (p.image == nil || p.image.Stale()) && !p.renew() {
		return
	}
	p.roster.enroll()
	p.looking.wanted, p.looking.maybe = p.looking.wanted[:0], p.looking.maybe[:0]
	before := p.activity.switches
	p.blame.begin()
	p.activity.examineAll()
	p.blame.rest()
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
	p.blame.finish(now)
	p.account.complete(now, ticks)
	p.spending.keepTotal(now)
	if p.refresh.due(now) {
		p.keepMapped(now)
	}
	p.namer.step(p.space)
}

// examine looks at a thread from outside, and finds out which thread it waits for.
func (p *process) examine(t *thread) {
	p.judge(t)
	p.blame.examine(t)
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

// maybeRuns has a thread that has run since the round before, and waits, looked at once more before others are
// stopped.
func (p *process) maybeRuns(t *thread) {
	if t.turn.verdict == taken && t.seen > 0 && p.sampler.opt.Ticks == nil && !p.looking.waryOf(t) {
		t.turn.recheck = true
		p.looking.maybe = append(p.looking.maybe, t)
	}
}

// want puts a thread on the list of those to stop. Where ticks are taken no thread is: what can be seen of it
// without a stop stands.
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
		p.outside.notSeen(t) // stands if it cannot be stopped
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
	p.refresh.needed = p.refresh.needed || ranOut(end)
	t.turn.verdict = taken
	p.account.put(t, stack)
	p.activity.stir(t)
}

// refreshing says when to read the maps of the process again.
type refreshing struct {
	needed  bool          // a stack ended where no code is known
	after   time.Duration // not before
	backoff time.Duration
}

const (
	minRefresh = 50 * time.Millisecond // between readings, after one that helped
	maxRefresh = 5 * time.Second       // after many that did not
)

// ranOut reports that an unwinding may have met code that we do not know.
func ranOut(end unwind.End) bool { return end == unwind.NotCode || end == unwind.NoRule }

// due reports whether the maps should be read again now: soon after an address
// was unknown, less and less often as that finds nothing, and now and then in
// any case, to see code unmapped.
func (r *refreshing) due(now time.Duration) bool {
	return r.may(now) && (r.needed || now >= r.after+maxRefresh)
}

// may reports whether the maps may be read again.
func (r *refreshing) may(now time.Duration) bool { return now >= r.after }

// done doubles the time to the next reading.
func (r *refreshing) done(now time.Duration) {
	r.needed = false
	r.backoff = min(max(2*r.backoff, minRefresh), maxRefresh)
	r.after = now + r.backoff
}

// helped takes over how a stack ends that was unwound again.
func (r *refreshing) helped(end unwind.End) {
	if !ranOut(end) {
		r.backoff = 0
	}
}

// learnt has the maps read again if a stack ended where no code is known, and reports whether it is to be unwound
// again: there may be no other round in which its thread is met.
func (p *process) learnt(end unwind.End) bool {
	return ranOut(end) && p.refresh.may(p.account.last) && p.keepMapped(p.account.last)
}

// keepMapped reads the maps again. Stacks taken from then on are seen by the new
// ones. As long as names are being looked up it leaves it at that: what was mapped
// when they were met has to be known still. It reports whether it has read them.
func (p *process) keepMapped(now time.Duration) bool {
	if !p.namer.idle() {
		return false
	}
	p.space.ResolveAll()
	if p.image.Refresh() {
		p.space.Remap()
	}
	p.space.Learned()
	p.refresh.done(now)
	for _, t := range p.roster.threads {
		if ranOut(t.view.end) && t.blocked.call != concealed { // another chance of that would be another stop
			t.blocked.know = moving // it gets another chance
			p.activity.stir(t)
		}
	}
	return true
}
