package sample

import (
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// Without timers the processor time comes from looks. A look takes the processor from a thread of the process at a
// random moment, by which the scheduler shows which thread ran there (internal/preempt). Only that thread is stopped,
// before it runs on. So it is seen where it was at that moment, however short its calls are and however often it sleeps
// and wakes. A thread that has gone to sleep by itself before the processor was taken needs no stop: it is in the call in
// which it sleeps.
//
// A look meets one thread at most, and one of the processors on which the process has lately run. The looks that meet
// nothing do not depend on what the process does, so the places that were met have their right shares. What a place
// counts for follows from the processor time of its thread, as with the timers of the processors.

// looks are the Ticks of a sampler without timers.
type looks struct {
	period  time.Duration
	lookers []*looker
}

const (
	leastLooks = time.Millisecond // between looks
	lookStack  = 32 << 10         // of a stack are copied
	mostHot    = 64               // threads among which a look finds the one that ran
	mostSights = 256              // that wait for the sampler
)

// A look sleeps for a random time between these, so that the process runs as ever when its processor is taken.
const (
	leastAside = 60 * time.Microsecond
	mostAside  = 260 * time.Microsecond
)

// promptly is how much later than at best a thread may have gone to sleep of itself. Then it was in its call already at the
// moment, and could not be preempted there. Later than that, the processor was late in coming.
const promptly = 15 * time.Microsecond

// A sight is what a look has shown.
type sight struct {
	tid    int
	at     time.Duration // CLOCK_MONOTONIC
	regs   ptrace.Regs   // of a thread that was stopped
	asleep bool          // it was not: it sleeps in call
	short  bool          // its call may have returned less because of the stop
	hidden bool          // it was not, because of the calls that it makes, or it could not be
	call   procfs.Syscall
	code   procfs.Map // that the thread which was stopped was in; zero if unknown
	stack  []byte     // from base on
	base   uint64
	pages  perfevent.Pages
}

// begin makes it that of a thread, now.
func (s *sight) begin(tid int, call procfs.Syscall) {
	s.tid, s.at, s.asleep, s.hidden, s.call, s.code = tid, perfevent.Now(), !call.Running, false, call, procfs.Map{}
}

// newLooks returns the looks at the processes of a sampler; nil if they cannot be looked at so.
func newLooks(s *Sampler) *looks {
	if s.opt.Follow != nil || s.opt.Blame != nil || s.opt.Clock != nil {
		return nil
	}
	l := &looks{period: max(s.opt.Period, leastLooks)}
	for _, p := range s.processes {
		if p.Stacks == nil {
			return nil
		}
		k := newLooker(p, l.period)
		l.lookers = append(l.lookers, k)
		p.looking.looker = k
	}
	for _, k := range l.lookers {
		if k.open() != nil {
			l.close()
			return nil
		}
	}
	return l
}

// start begins to look.
func (l *looks) start() {
	for _, k := range l.lookers {
		k.meetAll()
		k.running.Go(k.run) // ended and awaited by close
	}
}

func (l *looks) close() {
	for _, k := range l.lookers {
		k.close()
	}
}

// Read implements Ticks. What looks have shown is no record (takeSights).
func (l *looks) Read(func(*perfevent.Record)) (lost int64) { return 0 }

// ReadAll implements Ticks.
func (l *looks) ReadAll(func(*perfevent.Record)) (lost int64) { return 0 }

// Watch implements Ticks.
func (l *looks) Watch(tid int, pages []uint64) {
	for _, k := range l.lookers {
		if k.p.roster.byTID[tid] != nil {
			k.watch(tid, pages)
		}
	}
}

// Redraw implements Ticks: each moment is drawn by itself.
func (l *looks) Redraw(func(int64) int64) {}

// Period implements Ticks.
func (l *looks) Period() time.Duration { return l.period }

// takeSights takes what looks have shown.
func (l *looks) takeSights() {
	for _, k := range l.lookers {
		k.read()
	}
}

// takeSight counts what a look has shown.
func (k *ticking) takeSight(v *sight) {
	p := k.p
	if p.image != nil && p.image.Stale() {
		p.execed()
	}
	if p.image == nil {
		return
	}
	k.unwindSight(v)
	p.sampler.cost.Ticks++
	k.tick(v.tid, v.at)
}

// unwindSight makes the levels of a sight.
func (k *ticking) unwindSight(v *sight) {
	p, s := k.p, &k.snap
	s.Late, s.Partial, s.Argument, s.Chain, s.Base, s.Stack, s.Pages = false, v.asleep, 0, nil, v.base, v.stack, &v.pages
	k.levels = k.levels[:0]
	nr := int64(-1)
	switch t := p.roster.byTID[v.tid]; {
	case v.hidden:
		p.sampler.cost.Spared++
		k.levels, s.Partial, s.PC, s.SP = append(k.levels, p.sampler.notStopped), true, 0, 0
		return
	case v.asleep:
		if nr, s.PC, s.SP = v.call.Nr, v.call.PC, v.call.SP; nr >= 0 {
			s.Argument = v.call.Args[0]
		}
	default:
		s.Regs, s.PC, s.SP = v.regs, v.regs.PC(), v.regs.SP()
		if !p.hasCode(&v.code) {
			k.levels, s.Partial = append(k.levels, p.sampler.unsampled()), true
			return
		}
		in, _, ok := v.regs.SyscallReturn()
		if !ok {
			break
		}
		if nr = in; t != nil {
			if v.short {
				p.looking.cutShort(t)
			}
			if nr == restartSyscall {
				nr = p.outside.restarted(t, s.PC, s.SP)
			}
		}
	}
	if nr >= 0 {
		k.levels = append(k.levels, p.outside.note(nr))
	}
	var end unwind.End
	k.levels, end = unwindCopy(&p.sampler.cost, s, k, k.levels)
	k.outlying.learn(v.tid, s.Needed)
	p.refresh.needed = p.refresh.needed || source.RanOut(end)
}
