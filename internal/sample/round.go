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
	p.enroll()
	p.looking.wanted, p.looking.maybe = p.looking.wanted[:0], p.looking.maybe[:0]
	before := p.switches
	p.examineAll()
	p.calm = p.isCalm(&before)
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
	p.complete(now, ticks)
	p.keepTotal(now)
	if p.refresh.due(now) {
		p.keepMapped(now)
	}
	p.namer.step(p.space)
}

// examine decides what a thread's sample needs, and takes it unless the thread
// has to be stopped.
func (p *process) examine(t *thread) {
	sched, err := p.crowd.schedStat(t)
	if err != nil {
		p.lose(t)
		return
	}
	p.saw(t, sched)
	t.looked = true
	t.visited = 0
	p.examined = append(p.examined, t)
	if t.know == still && sched == t.sched {
		t.verdict = keep
		return
	}
	t.state, t.burst, t.sighting, t.recheck, t.waits = 0, 0, noSighting, false, false
	call, err := t.files.Syscall()
	if call.Nr == restartSyscall {
		call.Nr = p.restarted(t, call.PC, call.SP)
	}
	switch {
	case err != nil && vanished(err):
		p.lose(t)
	case err == nil && call.Running && p.sampler.opt.Ticks != nil:
		p.ticking.runs(t)
	case err != nil:
		p.examineHidden(t)
		p.maybeRuns(t)
	case call.Running:
		p.want(t)
	case t.know == disturbed && t.explained(call, sched):
		t.know, t.sched, t.verdict = still, sched, keep
	default:
		p.passive(t, call)
		p.maybeRuns(t)
	}
}

// maybeRuns has a thread that has run since the round before, and waits, looked at once more before others are
// stopped.
func (p *process) maybeRuns(t *thread) {
	if t.verdict == taken && t.seen > 0 && p.sampler.opt.Ticks == nil && !p.waryOf(t) {
		t.recheck = true
		p.looking.maybe = append(p.looking.maybe, t)
	}
}

// want puts a thread on the list of those to stop. Where ticks are taken no thread is: what can be seen of it
// without a stop stands.
func (p *process) want(t *thread) {
	switch {
	case p.sampler.opt.Ticks != nil:
		p.notSeen(t)
		return
	case p.waryOf(t):
		p.leaveRunning(t)
		return
	}
	if p.looking.over {
		p.notSeen(t) // stands if it cannot be stopped
		t.ran = true
		p.looking.early = append(p.looking.early, t)
		return
	}
	t.verdict = wanted
	p.looking.wanted = append(p.looking.wanted, t)
}

// took gives a thread the stack in p.levels.
func (p *process) took(t *thread, end unwind.End) { p.show(t, p.space.Stack(p.levels), end) }

// show gives a thread a stack.
func (p *process) show(t *thread, stack profile.StackID, end unwind.End) {
	p.sampler.cost.Ends[end]++
	t.cut, t.end = ranOut(end), end
	p.refresh.needed = p.refresh.needed || t.cut
	t.verdict = taken
	p.put(t, stack)
	p.stir(t)
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
	for _, t := range p.threads {
		if t.cut && t.call != concealed { // another chance of that would be another stop
			t.know = moving // it gets another chance
			p.stir(t)
		}
	}
	return true
}
