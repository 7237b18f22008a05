package sample

import (
	"slices"
	"time"

	"ptools/internal/intern"
	"ptools/internal/perfevent"
	"ptools/internal/profile"
	"ptools/internal/ptrace"
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
// If a round finds a thread running, it owes a sample and the wall time since the round before.
// They go to the ticks that have met the thread since then, or to its next tick.

// Ticks samples running threads; *perfevent.Ticker implements it.
type Ticks interface {
	// Read calls f for each record since the last call, in order, and returns how many records
	// were lost.
	Read(f func(*perfevent.Record)) (lost int64)
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
	p       *process
	snap    Capture
	levels  []profile.Addr
	calls   map[uint64]int64         // system calls by the address behind the instruction
	strange map[int]profile.ThreadID // threads that no round has met
	met     []*thread                // threads that ticks of this round have met
}

func (k *ticking) init(p *process) {
	k.p, k.calls, k.strange = p, make(map[uint64]int64), make(map[int]profile.ThreadID)
}

// debt is what rounds owe to the ticks of a thread: samples and wall time.
type debt struct {
	values profile.Values
	fresh  []profile.Cell // where ticks of this round met it
	last   profile.Cell   // where the last tick met it, if ticked
	ticked bool           // a tick met it in the present space
	paid   int64          // the last round in which ticks met it
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
	if s.tree != nil {
		defer s.tree.settleEnds()
		if s.ending {
			read = s.tree.ticks.ReadAll
		}
	}
	if s.looks != nil {
		s.looks.takeSights()
	}
	if lost := read(s.takeRecord); lost > 0 {
		s.cost.Lost += lost
		for _, p := range s.processes {
			p.roster.stale = true // lost records may have been of its threads
		}
		if s.tree != nil {
			s.tree.sweeps.due = true
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
	switch {
	case p == nil:
		if parent := s.byPID[r.Parent]; r.Kind == perfevent.Fork && parent != nil {
			s.cost.Children++
		}
	case r.Kind == perfevent.Tick:
		p.ticking.take(r)
	case r.Kind == perfevent.Ending:
		p.ticking.takeEnding(r)
	case r.Kind == perfevent.Map:
		p.refresh.needed = true // the code that was there may have had another name
	case r.Kind == perfevent.Exec:
		p.execed()
	case r.Kind == perfevent.Name:
		if t := p.roster.byTID[r.TID]; t != nil {
			p.roster.readName(t)
		}
	default:
		p.roster.stale = true
		if r.Kind == perfevent.Exit {
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
	k.unwind(r)
	p.sampler.cost.Ticks++
	k.count(r.TID)
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
	k.count(v.tid)
}

// unwindSight makes the levels of a sight.
func (k *ticking) unwindSight(v *sight) {
	p, s := k.p, &k.snap
	s.Late, s.Partial, s.Chain, s.Base, s.Stack = false, v.asleep, nil, v.base, v.stack
	k.levels = k.levels[:0]
	nr := int64(-1)
	switch t := p.roster.byTID[v.tid]; {
	case v.hidden:
		p.sampler.cost.Spared++
		k.levels, s.Partial, s.PC, s.SP = append(k.levels, p.sampler.notStopped), true, 0, 0
		return
	case v.asleep:
		nr, s.PC, s.SP = v.call.Nr, v.call.PC, v.call.SP
	default:
		s.Regs, s.PC, s.SP = v.regs, v.regs.PC(), v.regs.SP()
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
	p.refresh.needed = p.refresh.needed || ranOut(end)
}

// count counts one tick of a thread, whose levels have been made.
func (k *ticking) count(tid int) {
	p := k.p
	stack := p.space.Stack(k.levels)
	p.spending.sinceTotal += p.sampler.opt.Ticks.Period()
	period := profile.Values{CPU: int64(p.sampler.opt.Ticks.Period())}
	t := p.roster.byTID[tid]
	if t == nil {
		p.roster.stale = true
		p.space.Add(p.space.Cell(k.stranger(tid), stack), period)
		return
	}
	cell := p.space.Cell(t.id, stack)
	p.space.Add(cell, period)
	if len(t.debt.fresh) == 0 {
		k.met = append(k.met, t)
		p.activity.stir(t) // it has run
	}
	t.debt.fresh, t.debt.last, t.debt.ticked = append(t.debt.fresh, cell), cell, true
	if p.sampler.opt.Each != nil {
		t.lastRegs.regs, t.lastRegs.partial, t.lastRegs.pc, t.lastRegs.sp, t.shown = k.snap.Regs, k.snap.Partial, k.snap.PC, k.snap.SP, stack
	}
}

// takeEnding counts a tick of a thread that has released its memory in its exit.
func (k *ticking) takeEnding(r *perfevent.Record) {
	p := k.p
	if p.image == nil {
		return
	}
	id := p.threadID(r.TID, "")
	if t := p.roster.byTID[r.TID]; t != nil {
		id = t.id
	}
	p.sampler.cost.Ticks++
	p.spending.sinceTotal += p.sampler.opt.Ticks.Period()
	stack := p.space.Push(0, p.sampler.exit)
	p.space.Add(p.space.Cell(id, stack), profile.Values{CPU: int64(p.sampler.opt.Ticks.Period())})
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
	k.p.refresh.needed = k.p.refresh.needed || ranOut(end)
}

// tickImage is what the stack of a tick is unwound by.
type tickImage interface {
	// Unwind is that of Image.
	Unwind(s *Capture, dst []profile.Addr) ([]profile.Addr, unwind.End)
	// syscall returns the number of the system call that a thread in the kernel has made, by the
	// program counter that it will return to. It returns -1 for a thread that is in the kernel by an
	// interrupt or a fault.
	syscall(s *Capture) int64
	// note returns the level that stands for a system call.
	note(nr int64) profile.Addr
}

// unwindTick appends the levels of a tick. It sets all of snap but snap.Late.
func (s *Sampler) unwindTick(r *perfevent.Record, snap *Capture, image tickImage, levels []profile.Addr) ([]profile.Addr, unwind.End) {
	for _, addr := range r.KernelChain {
		levels = append(levels, s.kernelNote(addr))
	}
	return unwindUser(&s.cost, r, snap, image, levels)
}

// unwindUser is unwindTick without the levels in the kernel.
func unwindUser(cost *Cost, r *perfevent.Record, snap *Capture, image tickImage, levels []profile.Addr) ([]profile.Addr, unwind.End) {
	snap.Regs.SetSampled(&r.Regs)
	snap.PC, snap.SP = snap.Regs.PC(), snap.Regs.SP()
	snap.Base, snap.Stack, snap.Partial, snap.Chain = snap.SP, r.Stack, false, r.Chain
	interrupted(snap)
	if r.InKernel {
		if nr := image.syscall(snap); nr >= 0 {
			snap.Regs.SetSyscall(nr)
			levels = append(levels, image.note(nr))
		}
	}
	return unwindCopy(cost, snap, image, levels)
}

// unwindCopy appends the levels in user code of a thread that runs on.
func unwindCopy(cost *Cost, snap *Capture, image tickImage, levels []profile.Addr) ([]profile.Addr, unwind.End) {
	levels, end := image.Unwind(snap, levels)
	if snap.Strayed && end != unwind.Whole {
		// Beyond the copy the memory is the present one. If it does not lead to the end of the
		// stack, none of the levels from it are certain.
		levels = levels[:len(levels)-snap.Beyond]
		cost.Cut++
	}
	cost.Ends[end]++
	return levels, end
}

// Unwind implements tickImage.
func (k *ticking) Unwind(s *Capture, dst []profile.Addr) ([]profile.Addr, unwind.End) {
	return k.p.image.Unwind(s, dst)
}

func (k *ticking) note(nr int64) profile.Addr { return k.p.outside.note(nr) }

// syscall implements tickImage.
func (k *ticking) syscall(s *Capture) int64 { return syscallBefore(k.p.image, k.calls, s) }

// syscallBefore returns the system call of the instruction before the program counter, -1 for none. It keeps the answers
// in calls.
func syscallBefore(image Image, calls map[uint64]int64, s *Capture) int64 {
	if _, known := calls[s.PC]; !known && s.Late {
		return -1
	}
	return intern.Value(calls, s.PC, func() int64 {
		return callIn(func(code []byte) bool { return image.ReadStack(code, s.PC-ptrace.SyscallCode) == len(code) })
	})
}

// callIn returns the system call that the code which read fills in makes, or -1.
func callIn(read func(code []byte) bool) int64 {
	var code [ptrace.SyscallCode]byte
	if read(code[:]) {
		if nr, ok := ptrace.SyscallBefore(&code); ok {
			return nr
		}
	}
	return -1
}

// interrupted handles a thread that the kernel is sending, or has just sent, into the handler
// of a signal. It sets the registers to those where the signal met the thread, as a stop there
// would show.
func interrupted(s *Capture) {
	for addr, ok := s.Regs.HandlerContext(); ok; addr, ok = s.Regs.HandlerContext() {
		off := addr - s.Base
		if off >= uint64(len(s.Stack)) || uint64(len(s.Stack))-off < ptrace.ContextSize {
			return
		}
		s.Regs.SetContext((*[ptrace.ContextSize]byte)(s.Stack[off:]))
		s.Chain = nil // it begins with a frame pointer that is no longer the thread's
		s.PC, s.SP = s.Regs.PC(), s.Regs.SP()
	}
}

// runs notes that a round has found a thread running.
func (k *ticking) runs(t *thread) {
	p := k.p
	p.account.leave(t)
	t.turn.verdict, t.blocked.know, t.blocked.state, t.blocked.sched = running, moving, 0, t.usage.now
	p.activity.stir(t)
}

// pay gives what rounds owe to a thread's ticks to the ticks of this round.
func (k *ticking) pay() {
	for _, t := range k.met {
		k.settle(t, t.debt.fresh)
		t.debt.fresh, t.debt.paid = t.debt.fresh[:0], k.p.activity.number
	}
	k.met = k.met[:0]
}

// settle divides what is owed among cells.
func (k *ticking) settle(t *thread, cells []profile.Cell) {
	d, n := &t.debt.values, int64(len(cells))
	if d.Samples == 0 {
		return
	}
	begun := k.p.account.last - k.p.sampler.sched.start - time.Duration(d.Wall)
	for i, cell := range cells {
		i := int64(i)
		from, to := d.Wall*i/n, d.Wall*(i+1)/n
		v := profile.Values{Samples: d.Samples*(i+1)/n - d.Samples*i/n, Wall: to - from}
		k.p.space.AddDuring(cell, v, begun+time.Duration(from), begun+time.Duration(to), true)
	}
	*d = profile.Values{}
}

// unseen returns the level of a thread that rounds have found running, and no tick. Without timers, a thread that was given
// no processor is one that could not be stopped.
func (k *ticking) unseen(t *thread) profile.Addr {
	s := k.p.sampler
	if s.looks == nil || t.usage.used > 0 {
		return s.unseen
	}
	s.cost.Refused += t.debt.values.Samples
	s.cost.Starved += t.debt.values.Samples
	return s.notStopped
}

// forgive handles the debt to a thread that no tick will meet any more, or not in this space. It
// gives it to the place where the last tick met the thread, or else to a stack of its own.
func (k *ticking) forgive(t *thread) {
	if t.debt.values.Samples > 0 {
		cell := t.debt.last
		if !t.debt.ticked {
			cell = k.p.space.Cell(t.id, k.p.space.Push(0, k.unseen(t)))
		}
		k.settle(t, []profile.Cell{cell})
	}
	t.debt.fresh, t.debt.ticked = t.debt.fresh[:0], false
}
