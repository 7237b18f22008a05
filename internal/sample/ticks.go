package sample

import (
	"slices"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/profile"
	"ptools/internal/ptrace"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// Where the kernel permits it, the processor time comes from timers of the processors. They are perf events
// that sample, in the timer interrupt, each thread of a wanted process that they meet
// (internal/perfevent.Ticker). The moment of a tick does not depend on what a thread does. So the number of
// ticks that meet a function is in proportion to its processor time. No thread is stopped for a tick.
//
// A tick counts one period of processor time where it met the thread. In the end the sums are
// reconciled with the kernel's figure for each thread (reconcile.go).
//
// If a round finds a thread running, it owes a sample. The wall time in which the thread has run is owed too (walltime.go).
// Both go to the ticks that have met the thread since then, or to its next tick.

// Ticks samples running threads; *perfevent.Ticker implements it.
type Ticks interface {
	// Read calls f for records since the last call, in order, and returns how many records
	// were lost. The last ones may be left for the next call.
	Read(f func(*perfevent.Record)) (lost int64)
	// ReadAll is Read, including the last records.
	ReadAll(f func(*perfevent.Record)) (lost int64)
	// Watch has pages of memory copied with the ticks of a thread from now on, instead of those that it was called with before.
	Watch(tid int, pages []uint64)
	// Redraw draws new periods.
	Redraw(random func(int64) int64)
	// Period is the time between the ticks of one processor.
	Period() time.Duration
}

// UseTimers says whether timers of the processors are used.
type UseTimers uint8

const (
	TimersAuto UseTimers = iota // where they can be had
	TimersOff                   // never: running threads are stopped
	TimersOnly                  // always; without them sampling fails
)

// ParseUseTimers returns the meaning of auto, off or only.
func ParseUseTimers(s string) (u UseTimers, ok bool) {
	i := slices.Index([]string{TimersAuto: "auto", TimersOff: "off", TimersOnly: "only"}, s)
	return UseTimers(max(i, 0)), i >= 0
}

// ticking is what a process needs to take ticks.
type ticking struct {
	p *process
	tickStack
	calls   map[uint64]int64         // system calls by the address behind the instruction
	strange map[int]profile.ThreadID // threads that no round has met
	met     []*thread                // threads that ticks of this round have met
	others  bool                     // the process has ended: ticks of its number are those of another one
	workers workers
	execing execing
	losses  int64 // Sampler.losses when the processor time of the threads was last read
}

func (k *ticking) init(p *process) {
	k.p, k.calls, k.strange, k.workers = p, make(map[uint64]int64), make(map[int]profile.ThreadID), make(workers)
	k.outlying.watch = func(tid int, pages []uint64) { p.sampler.opt.Ticks.Watch(tid, pages) }
}

// drain takes the records of the timers.
func (s *Sampler) drain() {
	if s.opt.Ticks == nil {
		if s.tree != nil {
			s.tree.ticks.Read(s.takeRecord)
			s.tree.settleEnds()
		}
		return
	}
	read := s.opt.Ticks.Read
	if s.ending {
		read = s.opt.Ticks.ReadAll
	}
	if s.tree != nil {
		defer s.tree.settleEnds()
	}
	if s.looks != nil {
		s.looks.takeSights()
	}
	if lost := read(s.takeRecord); lost > 0 {
		s.cost.Lost += lost
		s.losses++
		for _, p := range s.processes {
			p.roster.stale = true // lost records may have been of its threads
			if p.image != nil && p.image.Stale() {
				p.renew() // or that of an exec
			}
		}
		if s.tree != nil {
			s.tree.lossy()
		}
	}
	if s.sched.random != nil {
		s.opt.Ticks.Redraw(s.sched.random)
	}
}

// takeRecord takes one record.
func (s *Sampler) takeRecord(r *perfevent.Record) {
	if s.tree != nil {
		s.tree.takeRecord(r)
		return
	}
	s.takeRecordOf(s.byPID[r.PID], r)
}

// takeRecordOf takes one record of a process.
func (s *Sampler) takeRecordOf(p *process, r *perfevent.Record) {
	if p != nil {
		p.ticking.execing.note(r)
	}
	switch {
	case p == nil:
		if parent := s.byPID[r.Parent]; r.Kind == perfevent.Fork && parent != nil {
			s.cost.Children++
		}
	case p.ticking.others:
	case r.Kind == perfevent.Fork && r.PID != r.Parent && s.began != 0 && r.Time > s.began:
		p.ticking.others = true
	case r.Kind == perfevent.Tick:
		p.ticking.take(r)
	case r.Kind == perfevent.NoUser:
		p.ticking.takeNoUser(r)
	case r.Kind == perfevent.Map:
		if !p.ticking.execing.before(r) { // otherwise the image has it, or it is that of another program
			p.takeMap(&r.Mapped)
		}
	case r.Kind == perfevent.Exec:
		p.execed()
	case r.Kind == perfevent.Name:
		if t := p.roster.byTID[r.TID]; t != nil {
			p.roster.readName(t)
		}
	default:
		p.roster.stale = true
		if r.Kind == perfevent.Exit {
			delete(p.ticking.workers, r.TID)
			p.roster.exited(r.TID)
		}
	}
}

// take counts a tick.
func (k *ticking) take(r *perfevent.Record) {
	p := k.p
	if p.image == nil {
		return
	}
	switch {
	case k.execing.has(r):
		k.levels = p.sampler.notedLevels(r, k.levels[:0], p.sampler.exec)
		k.snap.Regs, k.snap.Partial, k.snap.PC, k.snap.SP = ptrace.Regs{}, true, 0, 0
	case k.execing.gone(r, p.image):
		k.levels = p.sampler.notedLevels(r, k.levels[:0], profile.Addr{})
		k.snap.Regs, k.snap.Partial, k.snap.PC, k.snap.SP = ptrace.Regs{}, true, 0, 0
	default:
		k.unwind(r)
	}
	p.sampler.cost.Ticks++
	k.tick(r.TID, r.Time)
}

// tick counts one tick of a thread, whose levels have been made. at is its CLOCK_MONOTONIC.
func (k *ticking) tick(tid int, at time.Duration) {
	p := k.p
	stack := p.space.Stack(k.levels)
	p.spending.tick()
	period := profile.Values{CPU: int64(p.sampler.opt.Ticks.Period())}
	t := p.roster.byTID[tid]
	if t == nil {
		p.roster.stale = true
		k.count(k.stranger(tid), stack, period, at)
		return
	}
	cell := p.space.Cell(t.id, stack)
	p.space.AddAt(cell, period, max(at-p.sampler.began, 0))
	t.usage.missing.count(1, p.sampler.opt.Ticks.Period())
	k.hasMet(t)
	t.debt.fresh, t.debt.last, t.debt.ticked = append(t.debt.fresh, cell), cell, true
	if p.sampler.opt.Each != nil {
		t.lastRegs.regs, t.lastRegs.partial, t.lastRegs.pc, t.lastRegs.sp, t.shown = k.snap.Regs, k.snap.Partial, k.snap.PC, k.snap.SP, stack
	}
}

// hasMet notes that ticks of this round have met a thread, or have been lost.
func (k *ticking) hasMet(t *thread) {
	if len(t.debt.fresh) == 0 && t.debt.lost == 0 {
		k.met = append(k.met, t)
		k.p.activity.stir(t) // it has run
	}
}

// takeNoUser counts a tick of a thread that runs no user code.
func (k *ticking) takeNoUser(r *perfevent.Record) {
	p := k.p
	if p.image == nil {
		return
	}
	p.sampler.cost.Ticks++
	works := k.workers.has(p.PID, r.TID)
	k.levels = p.sampler.kernelLevels(r, k.levels[:0], works)
	if works {
		k.snap.Regs, k.snap.Partial, k.snap.PC, k.snap.SP = ptrace.Regs{}, true, 0, 0
		k.tick(r.TID, r.Time)
		return
	}
	id := p.threadID(r.TID, "")
	if t := p.roster.byTID[r.TID]; t != nil {
		id = t.id
	}
	p.spending.tick()
	k.count(id, p.space.Stack(k.levels), profile.Values{CPU: int64(p.sampler.opt.Ticks.Period())}, r.Time)
}

// count counts a tick of a thread that rounds do not see. at is the CLOCK_MONOTONIC of the tick.
func (k *ticking) count(id profile.ThreadID, stack profile.StackID, v profile.Values, at time.Duration) {
	s := k.p.space
	at -= k.p.sampler.began
	s.AddDuring(s.Cell(id, stack), v, max(at-time.Duration(v.CPU), 0), at, true)
}

// stranger returns the entry of a thread that no round has met. Its name is that of the first
// thread if it has ended.
func (k *ticking) stranger(tid int) profile.ThreadID {
	id, ok := k.strange[tid]
	if ok {
		return id
	}
	p, name := k.p, ""
	if len(p.roster.threads) > 0 {
		name = p.sampler.profile.ThreadName(p.roster.threads[0].id)
	}
	if t, err := p.Thread(tid); err == nil {
		if comm, err := t.Comm(); err == nil {
			name = comm
		}
		t.Close()
	}
	id = p.threadID(tid, name)
	k.strange[tid] = id
	return id
}

// unwind makes the levels of a tick.
func (k *ticking) unwind(r *perfevent.Record) {
	k.snap.Late = k.p.image.Stale()
	var end unwind.End
	k.levels, end = k.p.sampler.unwindTick(r, &k.snap, k, k.levels[:0])
	k.outlying.learn(r.TID, k.snap.Needed)
	k.p.refresh.needed = k.p.refresh.needed || source.RanOut(end)
}

// Unwind implements tickImage.
func (k *ticking) Unwind(s *source.Capture, dst []profile.Addr) ([]profile.Addr, unwind.End) {
	return k.p.image.Unwind(s, dst)
}

func (k *ticking) note(nr int64) profile.Addr { return k.p.outside.note(nr) }

// syscall implements tickImage.
func (k *ticking) syscall(s *source.Capture) int64 { return syscallBefore(k.p.image, k.calls, s) }

// runs notes that a round has found a thread running.
func (k *ticking) runs(t *thread) {
	p := k.p
	p.account.leave(t)
	t.turn.verdict, t.blocked.know, t.blocked.state, t.blocked.sched, t.blocked.inTrace = running, moving, 0, t.usage.now, false
	p.activity.stir(t)
}
