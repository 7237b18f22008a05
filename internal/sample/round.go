package sample

import (
	"context"
	"time"

	"ptools/internal/profile"
	"ptools/internal/unwind"
)

// maxStack is how much of a stack is copied.
const maxStack = 64 << 10

// round takes one sample of each thread for the last of some ticks. It takes samples for
// the ticks before it as well, if it knows all that has happened since.
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
	if p.looking.looker != nil {
		p.looking.looker.warm()
	}
	p.namer.step(p.space)
}

// examine looks at a thread from outside, and finds out for which thread it waits.
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
	p.refresh.needed = p.refresh.needed || ranOut(end)
	t.turn.verdict = taken
	p.account.put(t, stack)
	p.activity.stir(t)
}

// refreshing says when to read the maps of the process again.
type refreshing struct {
	needed  bool          // a stack ended where no code is known
	after   time.Duration // earliest time of the next reading
	backoff time.Duration
}

const (
	minRefresh = 50 * time.Millisecond // time between readings, after one that helped
	maxRefresh = 5 * time.Second       // the same after many that did not help
)

// ranOut reports whether an unwinding may have ended at code that is not known yet.
func ranOut(end unwind.End) bool { return end == unwind.NotCode || end == unwind.NoRule }

// due reports whether the maps should be read again now. They are read soon
// after an address was unknown, and less and less often if that finds nothing.
// They are read from time to time in any case, to notice unmapped code.
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

// helped takes note of the end of a stack that was unwound again.
func (r *refreshing) helped(end unwind.End) {
	if !ranOut(end) {
		r.backoff = 0
	}
}

// learnt reads the maps again if a stack ended where no code is known, and reports whether the stack is to be
// unwound again. There may be no other round in which its thread is met.
func (p *process) learnt(end unwind.End) bool {
	return ranOut(end) && p.refresh.may(p.account.last) && p.keepMapped(p.account.last)
}

// keepMapped reads the maps again, for stacks that are taken from then on. It
// reads nothing while names are being looked up: that needs the maps from when the
// addresses were met. It reports whether it has read the maps.
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
		if ranOut(t.view.end) && t.blocked.call != concealed { // a further look would be a further stop
			t.blocked.know = moving // it is looked at again
			p.activity.stir(t)
		}
	}
	return true
}
