package sample

import (
	"context"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptrace"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// maxArena bounds the memory for the stacks of one look. If very many threads
// run, each gets less than maxStack.
const maxArena = 16 << 20

// A thread that waits for a processor stops when it is given one. A round waits for that no longer than
// longestLook, and no longer than lastLook after the time of the sampling is over.
const (
	longestLook = 100 * time.Millisecond
	lastLook    = 20 * time.Millisecond
)

// patience returns how long a round that begins now may wait for threads.
func (s *Sampler) patience() time.Duration {
	if s.opt.For <= 0 {
		return longestLook
	}
	left := s.sched.start + s.opt.For - s.clock.Now()
	return min(max(left, lastLook), longestLook)
}

// isLate reports whether a round has waited long enough for threads to stop.
func (l *looking) isLate() bool { return l.p.sampler.clock.Now() >= l.until }

// stood is a thread that was stopped for a look.
type stood struct {
	source.Capture
	visited time.Duration // when the thread stood
	seen    time.Duration // when the copy was complete
	unwound bool          // levels and end are set
	levels  []profile.Addr
	end     unwind.End
}

// looking is what a process needs to stop threads without allocating.
type looking struct {
	p      *process
	looker *looker // nil: the threads that run are stopped by rounds
	wanted []*thread
	maybe  []*thread // threads that have run since the round before, and wait
	over   bool      // no more threads can be wanted in this round
	early  []*thread // that stopped before their moment
	short  int       // how often a thread might have stopped too early
	tids   []int
	snaps  []stood
	arena  []byte
	share  uint64 // bytes of arena for each
	visits int
	begun  time.Duration // when the stops were asked for
	moment time.Duration // earliest moment of a stop
	strict int           // number of further stacks that are unwound while their thread stands still
	visit  func(int, *ptrace.Regs)
	ready  func(int) bool
	until  time.Duration // when the round waits no longer
	late   func() bool
}

func (l *looking) init(p *process) {
	l.p = p
	l.visit, l.ready, l.late = l.visited, l.runsStill, l.isLate
}

// look stops the wanted threads and takes their stacks.
func (l *looking) look(ctx context.Context) error {
	p := l.p
	l.until = p.sampler.clock.Now() + p.sampler.patience()
	if err := l.stop(ctx, l.ready); err != nil {
		return err
	}
	l.early, l.over = l.early[:0], true
	defer func() { l.over = false }()
	for _, t := range l.maybe {
		if t.turn.visited != 0 {
			l.wanted = append(l.wanted, t)
		}
	}
	// If the process has executed another program meanwhile, its threads were seen in either image.
	replaced := p.image.Stale()
	for _, t := range l.wanted {
		switch {
		case t.turn.visited == 0 && t.turn.waits && t.turn.nowIn == concealed:
			p.outside.examineHidden(t)
		case t.turn.visited == 0 && t.turn.waits:
			p.outside.passive(t, t.turn.nowIn)
		case t.turn.visited == 0:
			l.refused(t)
		case replaced:
			p.outside.levels = append(p.outside.levels[:0], p.sampler.exec)
			t.blocked.know = moving
			p.took(t, unwind.Unreadable)
		default:
			s := &l.snaps[t.turn.visited-1]
			if t.blocked.state == 0 && l.tooEarly(&s.Regs) {
				l.early = append(l.early, t)
			}
			l.taken(t, s)
		}
	}
	if len(l.early) > 0 {
		return l.lookAgain(ctx)
	}
	return nil
}

// stop has those of the wanted threads visited that are ready.
func (l *looking) stop(ctx context.Context, ready func(int) bool) error {
	l.prepare()
	l.begun = l.p.sampler.clock.Now()
	l.moment = l.begun + l.apart()
	_, err := l.p.Control.LookIf(ctx, l.tids, ready, l.late, l.visit)
	l.p.sampler.cost.Stops += int64(l.visits)
	return err
}

// longestApart bounds how long a look waits for a moment of its own.
const longestApart = 250 * time.Microsecond

// apart returns how long to wait, on the processor, before threads that sleep and wake often are looked at. The interrupt
// that wakes us for a round also runs other timers of that processor that are due, and have been deferred to run with
// another one (timerslack_ns, 50 us). So it wakes a thread that sleeps for about as long as we do, and for microseconds
// the thread does what it does after each sleep. If we slept once more, the same would happen again.
func (l *looking) apart() time.Duration {
	random := l.p.sampler.sched.random
	if random == nil || l.over {
		return 0
	}
	for _, list := range [...][]*thread{l.wanted, l.maybe} {
		for _, t := range list {
			if t.usage.now.Slices-t.blocked.sched.Slices >= 2 {
				return time.Duration(random(int64(min(longestApart, l.p.sampler.opt.Period/8))))
			}
		}
	}
	return 0
}

// prepare makes room for one capture per wanted thread.
func (l *looking) prepare() {
	n := len(l.wanted) + len(l.maybe)
	l.tids = l.tids[:0]
	for _, t := range l.wanted {
		l.tids = append(l.tids, t.tid)
	}
	for _, t := range l.maybe {
		l.tids = append(l.tids, t.tid)
	}
	l.visits = 0
	l.share = min(maxStack, maxArena/uint64(n)&^15)
	if need := int(l.share) * n; len(l.arena) < need {
		l.arena = make([]byte, need)
	}
	for len(l.snaps) < n {
		l.snaps = append(l.snaps, stood{})
	}
}

// runsStill runs on the control goroutine right before a thread is interrupted, which is the moment that counts.
// What was seen when the round began is up to a hundred microseconds old. A thread that waits now is left alone,
// unless it is to be stopped for the registers that it waits with.
func (l *looking) runsStill(tid int) bool {
	for l.begun < l.moment {
		l.begun = l.p.sampler.clock.Now()
	}
	t := l.p.roster.byTID[tid]
	switch {
	case t == nil:
		return false
	case t.blocked.state != 0 && !t.turn.recheck:
		return t.stillThere()
	}
	sched, err := t.files.SchedStat()
	if err != nil {
		return false
	}
	call, asleep := t.nowAsleep()
	l.p.activity.saw(t, sched)
	if t.turn.waits, t.turn.nowIn = asleep, call; t.turn.waits {
		return false
	}
	t.blocked.state = 0
	return true
}

// visited runs on the control goroutine while the thread is stopped: one copy of
// the registers, one read of the stack.
func (l *looking) visited(tid int, regs *ptrace.Regs) {
	t := l.p.roster.byTID[tid]
	if t == nil || t.turn.visited != 0 || l.visits == len(l.tids) {
		return
	}
	s := &l.snaps[l.visits]
	s.visited = l.p.sampler.clock.Now()
	s.Regs, s.Partial = *regs, false
	s.PC, s.SP = regs.PC(), regs.SP()
	t.readStack(l.p.image, &s.Capture, l.arena[uint64(l.visits)*l.share:][:l.share])
	l.visits++
	t.turn.visited = l.visits
	l.p.locks.Stopped(tid)
	if s.unwound = l.strict > 0; s.unwound {
		s.levels, s.end = l.p.image.Unwind(&s.Capture, s.levels[:0])
	}
	s.seen = l.p.sampler.clock.Now()
}

// taken unwinds a capture. The thread runs on meanwhile.
func (l *looking) taken(t *thread, s *stood) {
	p := l.p
	// The stop has brought the thread's processor time up to date.
	if sched, err := t.files.SchedStat(); err == nil {
		// Part of its waiting for a processor may have been before we asked. It stood
		// still at least during the visit.
		p.sampler.cost.pause(max(s.seen-l.begun-time.Duration(sched.Wait-t.usage.now.Wait), s.seen-s.visited))
		t.turn.ran = sched.Slices != t.usage.now.Slices
		t.turn.burst += time.Duration(sched.Run - t.usage.now.Run)
		if t.blocked.state == 0 {
			t.turn.sighting = sightingOf(&s.Regs, t.turn.burst, t.turn.ran)
		}
		p.activity.saw(t, sched)
	}
	t.learnStack(p.image, s.SP) // for the next time
	levels := p.outside.levels[:0]
	nr, result, inCall := s.Regs.SyscallReturn()
	if inCall {
		p.looking.stoppedIn(t, nr, result, s.Regs.SyscallArgs())
		if nr == restartSyscall {
			nr = p.outside.restarted(t, s.PC, s.SP)
		}
		levels = append(levels, p.outside.note(nr))
	}
	notes := len(levels)
	var end unwind.End
	if s.unwound {
		levels, end = append(levels, s.levels...), s.end
	} else {
		levels, end = p.image.Unwind(&s.Capture, levels)
		levels, end = cutBeyond(&p.sampler.cost, &s.Capture, levels, end)
	}
	l.learnStrayed(s.Strayed)
	if p.learnt(end) {
		levels, end = p.image.Unwind(&s.Capture, levels[:notes])
		levels, end = cutBeyond(&p.sampler.cost, &s.Capture, levels, end)
		p.refresh.helped(end)
	}
	p.outside.levels = levels
	// It was stopped in a call that we knew of, and goes back into it.
	t.blocked.know = moving
	if t.blocked.state != 0 && inCall && (nr == t.blocked.call.Nr || t.blocked.call == concealed) {
		t.blocked.know = disturbed
	}
	t.blocked.state, t.blocked.sched = 0, t.usage.now
	t.lastRegs.regs, t.lastRegs.partial, t.lastRegs.pc, t.lastRegs.sp = s.Regs, false, s.PC, s.SP
	p.took(t, end)
}

// strictStacks is how many stacks of a process are unwound while their thread stands still, after
// an unwinding has strayed. The threads of such a process change stacks, in handlers on alternate
// stacks or between Go and C. When they run on, what was on the other stack is gone or half
// written.
const strictStacks = 100

// learnStrayed takes note of whether the unwinding of a stack has strayed.
func (l *looking) learnStrayed(strayed bool) {
	switch {
	case strayed:
		l.strict = strictStacks
	case l.strict > 0:
		l.strict--
	}
}

// refused takes what can be seen from outside of a thread that could not be stopped. It may have gone to
// sleep where nothing wakes it. If the time for the stop was over, it may have been given no processor.
func (l *looking) refused(t *thread) {
	cost := &l.p.sampler.cost
	cost.Refused++
	if l.isLate() {
		if stat, err := t.files.Stat(); err == nil && stat.State == 'R' {
			cost.Starved++
		}
	}
	l.p.outside.notSeen(t)
}

// notSeen takes what can be seen from outside of a thread that is not stopped.
func (o *outside) notSeen(t *thread) {
	if t.blocked.state != 0 {
		t.blocked.state = 0
		return // the result of an earlier passive look stays
	}
	if call, err := t.files.Syscall(); err == nil && !call.Running && call.PC != 0 {
		state, end := o.readBlocked(t, call)
		if after, err := t.files.SchedStat(); err == nil && after == t.usage.now {
			t.blocked.call, t.blocked.state, t.blocked.sched, t.blocked.know = call, state, after, still
			o.p.took(t, end)
			return
		}
	}
	where := o.p.sampler.notStopped
	if t.works {
		where = o.p.sampler.worker
	}
	o.levels = append(o.levels[:0], where)
	t.blocked.know = moving
	o.p.took(t, unwind.Unreadable)
}
