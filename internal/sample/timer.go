package sample

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/profile"
	"ptools/internal/ptrace"
	"ptools/internal/unwind"
)

// A running thread need not be stopped where the kernel may be asked for more: its timer, a
// perf event, takes a sample whenever the thread has used another period of processor
// time, in the timer interrupt. That costs the thread the interrupt, some 30 us on a virtual
// machine, where a stop stands for 100 to 200, and its moment depends on nothing that the
// thread does.
//
// A round shows, of each running thread, its oldest sample that no round has shown. The
// processor time that schedstat reports goes to all samples taken since it last did.

// Timer takes samples of a running thread; *perfevent.Timer is one.
type Timer interface {
	Next(*perfevent.Tick) bool
	SetPeriod(time.Duration)
	Close() error
}

// Timers opens timers until it is closed; *perfevent.Timers does.
type Timers interface {
	Open(tid int, period time.Duration, stack int) (Timer, error)
	Close() error
}

// UseTimers says whether timers are used.
type UseTimers uint8

const (
	TimersAuto UseTimers = iota // where they can be had
	TimersOff                   // never: running threads are stopped
	TimersOnly                  // or else sampling fails; threads that cannot have one are stopped
)

// ParseUseTimers returns what auto, off or only means.
func ParseUseTimers(s string) (u UseTimers, ok bool) {
	i := slices.Index([]string{TimersAuto: "auto", TimersOff: "off", TimersOnly: "only"}, s)
	return UseTimers(max(i, 0)), i >= 0
}

const (
	// firstTimerStack is how much of a stack a timer copies at first: what it finds there
	// costs the thread, in an interrupt.
	firstTimerStack = 8 << 10
	// maxTimers bounds the descriptors of a sampler, and maxTimerMemory what the kernel sets
	// aside for a process.
	maxTimers      = 512
	maxTimerMemory = 64 << 20
	// backlog is how many samples wait for a round to show them, beside those of ticks that it
	// was put off by: a thread that runs all the time has one for each tick, more or less.
	backlog = 2
	// maxWaiting bounds them for a thread that is not shown running.
	maxWaiting = 8
)

// timers are the timers of one process.
type timers struct {
	p      *process
	source Timers // nil: none can be had
	memory int
	full   bool // no more descriptors
	trust  trust
	tick   perfevent.Tick
	snap   Snapshot
	buf    []byte
	levels []profile.Addr
	calls  map[uint64]int64 // system calls by the address behind the instruction
}

func (c *timers) init(p *process) {
	c.p = p
	c.calls = make(map[uint64]int64)
}

// prepare finds out whether there can be timers.
func (c *timers) prepare(use UseTimers) error {
	if use == TimersOff || c.p.Timers == nil {
		return nil
	}
	source, err := c.p.Timers()
	if err == nil {
		c.source, c.buf = source, make([]byte, perfevent.MaxTimerStack)
	} else if use == TimersOnly {
		return err
	}
	return nil
}

// close ends all timers.
func (c *timers) close() {
	for _, t := range c.p.threads {
		c.stop(t)
	}
	if c.source != nil {
		c.source.Close()
		c.source = nil
	}
}

// timed is a thread's timer and what it has shown.
type timed struct {
	Timer
	stack   int            // bytes that it copies
	waiting []sighting     // for a round
	owed    []profile.Cell // samples whose processor time is not known yet
	current bool           // the thread has not been seen blocked since its last sample
	drawn   int            // samples since its period was drawn
	shown   int64          // the round that last showed what it has seen
}

// sighting is a running thread at one moment.
type sighting struct {
	stack profile.StackID
	end   unwind.End
	regs  ptrace.Regs
}

// start gives a thread a timer, if it can have one. Its thread pointer must be known.
func (c *timers) start(t *thread, stack int) {
	memory := perfevent.TimerMemory(stack)
	if c.source == nil || c.full || t.untimed || c.isRestless(t) || c.p.sampler.timers == maxTimers || c.memory+memory > maxTimerMemory {
		return
	}
	timer, err := c.source.Open(t.tid, c.p.sampler.opt.Period, stack)
	if err != nil {
		t.untimed = true
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			c.full = true // what is left of descriptors is for files
		}
		return
	}
	t.timer = &timed{Timer: timer, stack: stack}
	t.pace.begin(c.p.number, t.now)
	t.pace.timed = c.p.number
	c.p.sampler.timers++
	c.memory += memory
}

// stop takes a thread's timer away.
func (c *timers) stop(t *thread) {
	if t.timer == nil {
		return
	}
	t.timer.Close()
	c.p.sampler.timers--
	c.memory -= perfevent.TimerMemory(t.timer.stack)
	t.timer = nil
}

// grow has a thread's timer copy more of the stack.
func (c *timers) grow(t *thread) {
	old := t.timer
	c.stop(t)
	if c.start(t, min(4*old.stack, perfevent.MaxTimerStack)); t.timer != nil {
		t.timer.waiting, t.timer.owed, t.timer.current = old.waiting, old.owed, old.current
	}
}

// drawAfter is how many samples a timer takes with one period. The next period is up to a
// fifth shorter or longer, so that no program that does the same over and over is seen in one
// place only for long. It is not drawn for each sample: the processor of the thread is
// interrupted for it.
const drawAfter = 16

// draw gives a timer another period.
func (c *timers) draw(k *timed) {
	if k.drawn++; k.drawn < drawAfter {
		return
	}
	k.drawn = 0
	if period := c.p.sampler.opt.Period; c.p.sampler.sched.random != nil {
		spread := int64(period) * 2 / 5
		k.SetPeriod(period - time.Duration(spread/2-c.p.sampler.sched.random(spread)))
	}
}

// drain unwinds what a thread's timer has sampled since the last time.
func (c *timers) drain(t *thread) {
	short := false
	for {
		c.tick.Stack = c.buf[:cap(c.buf)]
		if !t.timer.Next(&c.tick) {
			break
		}
		c.draw(t.timer)
		switch {
		case c.trust.barred > 0: // they are taken by stops
		case c.unwind(t):
			c.trust.won()
		case len(c.tick.Stack) >= t.timer.stack && t.timer.stack < perfevent.MaxTimerStack:
			short = true
		default:
			c.trust.lost()
			c.p.sampler.cost.Dropped++
			c.p.looking.strict = strictStacks
		}
	}
	if short {
		c.grow(t)
	}
}

// unwind takes over the sample in tick, unless its stack goes on where neither the copy nor the
// chain tells how: what lies there now need not be what lay there then.
func (c *timers) unwind(t *thread) bool {
	p, s := c.p, &c.snap
	s.Regs.SetSampled(&c.tick.Regs)
	s.Regs.SetThreadPointer(t.tls)
	s.PC, s.SP = s.Regs.PC(), s.Regs.SP()
	s.Base, s.Stack, s.Partial, s.Chain = s.SP, c.tick.Stack, false, c.tick.Chain
	c.interrupted(s)
	levels := c.levels[:0]
	if c.tick.Kernel {
		if nr := c.syscall(s.PC); nr >= 0 {
			s.Regs.SetSyscall(nr)
			levels = append(levels, p.note(nr))
		}
	}
	levels, end := p.image.Unwind(s, levels)
	c.levels = levels
	k := t.timer
	if s.Strayed {
		k.current = false
		return false
	}
	id := p.space.Stack(levels)
	if len(k.waiting) == maxWaiting {
		k.waiting = append(k.waiting[:0], k.waiting[1:]...)
	}
	k.waiting = append(k.waiting, sighting{id, end, s.Regs})
	k.owed = append(k.owed, p.space.Cell(t.id, id))
	return true
}

// syscall returns which system call a thread in the kernel has made if pc is where it will
// return to; -1 for one that came by an interrupt or a fault.
func (c *timers) syscall(pc uint64) int64 {
	nr, ok := c.calls[pc]
	if !ok {
		nr = -1
		var code [ptrace.SyscallCode]byte
		if c.p.image.ReadStack(code[:], pc-ptrace.SyscallCode) == len(code) {
			if n, ok := ptrace.SyscallBefore(&code); ok {
				nr = n
			}
		}
		c.calls[pc] = nr
	}
	return nr
}

// interrupted has a thread that the kernel is sending, or has just sent, into the handler of a
// signal shown where the signal has met it, as a stop there would be.
func (c *timers) interrupted(s *Snapshot) {
	for addr, ok := s.Regs.HandlerContext(); ok; addr, ok = s.Regs.HandlerContext() {
		off := addr - s.Base
		if off >= uint64(len(s.Stack)) || uint64(len(s.Stack))-off < ptrace.ContextSize {
			return
		}
		s.Regs.SetContext((*[ptrace.ContextSize]byte)(s.Stack[off:]))
		s.Chain = nil // it begins with the frame pointer that is no more
		s.PC, s.SP = s.Regs.PC(), s.Regs.SP()
	}
}

// runs takes the sample of a thread that runs from its timer, if that has one.
func (c *timers) runs(t *thread) bool {
	if c.trust.barred > 0 || t.timer == nil {
		return false
	}
	k := t.timer
	if extra := len(k.waiting) - backlog - int(c.p.ticks) + 1; extra > 0 {
		k.waiting = append(k.waiting[:0], k.waiting[extra:]...)
	}
	if len(k.waiting) == 0 && !k.current {
		return false
	}
	if len(k.waiting) > 0 {
		c.show(t)
	}
	t.verdict, t.know, t.state, t.sched = taken, moving, 0, t.now
	k.current, k.shown = true, c.p.number
	c.p.sampler.cost.Timed += c.p.ticks
	c.p.stir(t)
	return true
}

// show gives a thread the oldest of its samples that wait.
func (c *timers) show(t *thread) {
	k := t.timer
	s := &k.waiting[0]
	t.regs, t.partial, t.pc, t.sp = s.regs, false, s.regs.PC(), s.regs.SP()
	c.p.show(t, s.stack, s.end)
	k.waiting = append(k.waiting[:0], k.waiting[1:]...)
}

// blocked notes that a thread has been seen blocked: where it ran before is past.
func (k *timed) blocked() {
	k.waiting, k.current = k.waiting[:0], false
}

// charge gives the processor time that a thread has used to its samples. What it has used
// since the last of them waits for the next.
func (c *timers) charge(t *thread) {
	p, k := c.p, t.timer
	ns := int64(t.now.Run - t.run)
	n := int64(len(k.owed))
	if ns <= 0 || n == 0 {
		return
	}
	for i, cell := range k.owed {
		p.space.Add(cell, profile.Values{CPU: ns*int64(i+1)/n - ns*int64(i)/n})
	}
	k.owed = k.owed[:0]
	p.charged += ns
	t.run = t.now.Run
}

// held is the processor time of living threads that waits for a sample.
func (c *timers) held() (ns int64) {
	if c.p.sampler.timers == 0 {
		return 0
	}
	for _, t := range c.p.threads {
		if t.timer != nil {
			ns += int64(t.now.Run - t.run)
		}
	}
	return ns
}
