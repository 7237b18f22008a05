package sample

import (
	"ptools/internal/intern"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// passiveTries bounds how often a round looks from outside at a thread that
// keeps waking.
const passiveTries = 2

// outside looks at threads without stopping them.
type outside struct {
	p      *process
	buf    []byte // stack of a passive look
	snap   source.Capture
	levels []profile.Addr
	names  map[int64]profile.Addr  // levels of system calls
	waits  map[string]profile.Addr // levels of functions of the kernel
}

func (o *outside) init(p *process) {
	o.p = p
	o.names, o.waits = make(map[int64]profile.Addr), make(map[string]profile.Addr)
}

// leastStack is the least room for a stack. Most are small, and there may be many processes.
const leastStack = 8 << 10

// readStack reads the stack of a thread that is looked at.
func (o *outside) readStack(t *thread) {
	if room := min(t.stackAbove(o.snap.SP), maxStack); uint64(len(o.buf)) < room {
		o.buf = make([]byte, min(max(room, 2*uint64(len(o.buf)), leastStack), maxStack))
	}
	t.readStack(o.p.image, &o.snap, o.buf)
}

// note returns the level that stands for a system call.
func (o *outside) note(nr int64) profile.Addr {
	return intern.Value(o.names, nr, func() profile.Addr {
		name := procfs.SyscallName(nr)
		if o.p.image.Is32Bit() {
			name = "i386 " + procfs.SyscallName32(nr)
		}
		return o.p.sampler.profile.Note("[" + name + "]")
	})
}

// passive takes the stack of a blocked thread without stopping it. The thread
// was not running when the kernel wrote call. t.now was read before that. If it
// is unchanged after the stack was read, it belongs to the stack.
func (o *outside) passive(t *thread, call procfs.Syscall) {
	for range passiveTries {
		if call.PC == 0 && call.SP == 0 {
			o.resting(t, call)
			return
		}
		state, end := o.readBlocked(t, call)
		o.p.looking.metIn(t, &call, state)
		after, err := t.files.SchedStat()
		if err != nil {
			o.p.roster.lose(t)
			return
		}
		if after == t.usage.now {
			if o.p.image.Stale() { // an exec since the round began: its calls may have other names
				o.skip(t)
				return
			}
			o.accept(t, call, state, end)
			return
		}
		o.p.activity.saw(t, after)
		if call, err = t.files.Syscall(); err != nil || call.Running {
			break
		}
	}
	spoils := o.p.looking.spoils(&call)
	switch {
	case call.Running && o.p.sampler.opt.Ticks != nil:
		o.p.ticking.runs(t)
		return
	case call.Running || !spoils && o.p.sampler.opt.Ticks == nil:
		o.p.want(t)
		return
	case o.p.image.Stale():
		o.skip(t)
		return
	}
	// The thread is never stopped and keeps moving: only the system call is
	// certain for this moment.
	if o.levels = o.levels[:0]; call.Nr >= 0 {
		o.levels = append(o.levels, o.note(call.Nr))
	} else {
		o.levels = append(o.levels, o.waiting("")) // for a page of memory, most often
	}
	t.blocked.know, t.blocked.call = moving, call
	o.p.took(t, unwind.Unreadable)
}

// skip leaves a thread without a sample in this round.
func (o *outside) skip(t *thread) {
	t.turn.verdict, t.blocked.know = skipped, moving
	o.p.account.leave(t)
	o.p.activity.stir(t)
}

// readBlocked unwinds a blocked thread's stack into p.levels and returns its
// state.
func (o *outside) readBlocked(t *thread, call procfs.Syscall) (state byte, end unwind.End) {
	s := &o.snap
	if s.Partial, s.PC, s.SP, s.Argument = true, call.PC, call.SP, 0; call.Nr >= 0 {
		s.Argument = call.Args[0]
	}
	t.learnStack(o.p.image, s.SP)
	o.readStack(t)
	state = 'S'
	if stat, err := t.files.Stat(); err == nil {
		state = stat.State
	}
	return state, o.unwindBlocked(t, s, call, state)
}

// unwindBlocked unwinds a blocked thread's stack, which s has, into p.levels.
func (o *outside) unwindBlocked(t *thread, s *source.Capture, call procfs.Syscall, state byte) (end unwind.End) {
	o.levels = o.levels[:0]
	switch {
	case o.halted(t, state):
		o.levels = append(o.levels, o.p.sampler.stopped)
	case call.Nr >= 0:
		o.levels = append(o.levels, o.note(call.Nr))
	}
	o.levels, end = o.p.image.Unwind(s, o.levels)
	return end
}

// controlled reports whether the process is controlled, by this sampler: threads are stopped for a look.
func (o *outside) controlled() bool { return o.p.sampler.opt.Ticks == nil || o.p.sampler.looks != nil }

// halted reports whether a thread is in a group stop. In a controlled process a tracing stop may be that of a look, which
// lasts until the control goroutine has got a processor.
func (o *outside) halted(t *thread, state byte) bool {
	switch {
	case state == 'T':
		return true
	case o.controlled():
		return state == 't' && o.p.Control.GroupStop() != 0
	}
	return t.halted(state)
}

// isLook reports whether a look has stopped a thread at this moment, which has run of late, and takes its sample: it runs.
func (o *outside) isLook(t *thread, state byte) bool {
	switch {
	case state != 't' || !o.controlled() || o.p.Control.GroupStop() != 0:
		return false
	case o.p.sampler.looks == nil:
		o.p.want(t)
	case t.heat.time <= leastHeat: // it was woken for a look
		return false
	default:
		o.p.ticking.runs(t)
	}
	return true
}

// accept makes what readBlocked saw the thread's stack. It has the thread
// stopped if that is of use and does no harm: the unwinder needs registers
// that the kernel does not show, the thread's call restarts by itself, and the
// thread can stop.
func (o *outside) accept(t *thread, call procfs.Syscall, state byte, end unwind.End) {
	if o.isLook(t, state) {
		return
	}
	if o.p.learnt(end) {
		end = o.unwindBlocked(t, &o.snap, call, state)
		o.p.refresh.helped(end)
	}
	t.blocked.call, t.blocked.state = call, state
	t.blocked.sched, t.blocked.know = t.usage.now, still
	if state == 't' && !t.blocked.inTrace {
		t.blocked.know = moving // see halted
	}
	t.blocked.inTrace = state == 't'
	t.lastRegs.partial, t.lastRegs.pc, t.lastRegs.sp = true, call.PC, call.SP
	stop := end == unwind.NoRegister && o.p.sampler.opt.Ticks == nil && !o.p.looking.spoils(&call) && !o.p.looking.waryOf(t) && state != 'D' && !t.blocked.inTrace
	if !stop {
		o.p.sampler.cost.Passive++
		o.p.took(t, end)
		return
	}
	// This stack is valid until the look succeeds.
	o.p.took(t, end)
	o.p.sampler.cost.Ends[end]--
	t.blocked.know = moving
	o.p.want(t)
}
