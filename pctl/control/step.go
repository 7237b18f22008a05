package control

import (
	"slices"
	"syscall"

	"ptools/internal/ptrace"
	"ptools/internal/x86"
	"ptools/pctl/bkpt"
)

// stepper gets threads past breakpoints.
type stepper struct {
	c        *Controller
	g        *tracees
	reserved bool // the table has been given its scratch area, or there is none
}

// step is a single step that a thread is making.
type step struct {
	b      *bkpt.Breakpoint
	slot   uint64 // 0: in the instruction's own place, or direct
	direct bool   // in a slot from which the thread would come back by itself
	saved  x86.Saved
	mask   uint64
	masked bool // mask has to be put back
	flag   bool // the thread's own trap flag, before
}

// threadTraps is what traps know of a thread.
type threadTraps struct {
	at     *bkpt.Breakpoint // of posAtTrap, and where the thread will be after posTrapDue, or nil
	step   *step            // of posStepping
	marks  []mark           // hits that are reported and will be made again
	uprobe uprobeHit        // at a uprobe
	lone   *Lone            // has to stand by itself
}

// mark remembers that a thread which stands at a breakpoint was reported and then
// sent elsewhere, by a signal, before it could execute the instruction: when it
// comes back with the same stack pointer it is not reported again.
type mark struct{ addr, sp uint64 }

// maxMarks bounds them: a handler that never returns leaves its mark behind.
const maxMarks = 8

func (t *thread) mark(addr uint64) {
	if len(t.marks) == maxMarks {
		t.marks = slices.Delete(t.marks, 0, 1)
	}
	t.marks = append(t.marks, mark{addr, t.regs.SP()})
}

// unmark reports, and forgets, that the thread was reported here.
func (t *thread) unmark(addr uint64) bool {
	i := slices.Index(t.marks, mark{addr, t.regs.SP()})
	if i < 0 {
		return false
	}
	t.marks = slices.Delete(t.marks, i, i+1)
	return true
}

// synchronous are the signals that the thread's own instruction raises. They are not
// blocked during a step: the kernel ends a process that blocks one it needs.
const synchronous = 1<<(syscall.SIGSEGV-1) | 1<<(syscall.SIGBUS-1) | 1<<(syscall.SIGFPE-1) |
	1<<(syscall.SIGILL-1) | 1<<(syscall.SIGTRAP-1) | 1<<(syscall.SIGSYS-1)

// isFault tells the signals of an instruction's own making. Their handler may well
// come back behind the instruction, or nowhere near; if it comes back to it, then the
// instruction is executed once more, and is hit once more.
func isFault(sig syscall.Signal) bool { return sig > 0 && synchronous&(1<<(sig-1)) != 0 }

// What an interrupted system call returns inside the kernel, which then decides
// whether it is made again (arch/x86/kernel/signal.c).
const (
	restartSys   = -512 // unless a handler runs without SA_RESTART
	restartNoInt = -513 // always
	restartNoHnd = -514 // unless a handler runs
	restartBlock = -516 // likewise, by restart_syscall
)

// restarts reports whether the thread is sure to make its system call again: it goes
// back to the instruction and is not to be reported for it a second time.
func restarts(t *thread, kind ptrace.Kind) bool {
	_, result, ok := t.regs.SyscallReturn()
	if !ok {
		return false
	}
	switch result {
	case restartNoInt:
		return true
	case restartSys, restartNoHnd, restartBlock:
		return kind == ptrace.KindEventStop
	}
	return false
}

// stepOff gets a thread that is about to run past the breakpoint it stands at, so
// that no other thread can run past it meanwhile. It reports false if that takes a
// step, which has begun.
func (o *stepper) stepOff(t *thread) bool {
	b := t.at
	t.at = nil
	o.g.latency.hit()
	if o.g.loadRegs(t) != nil || t.regs.PC() != b.Addr || !b.Armed() {
		o.putAt(t, nil)
		return true
	}
	if t.m.signal != 0 {
		// The signal's handler runs first and comes back here.
		t.mark(b.Addr)
		o.putAt(t, nil)
		return true
	}
	if b.Hits > hotHits && b.Plan().UsesMemory() && o.continueCopy(t, b) {
		return true
	}
	if b.Plan().Kind() == x86.Emulate {
		if ok, _ := b.Plan().Emulate(&t.regs.Regs, o.g.memory.user); ok {
			t.known = regsChanged
			o.putAt(t, nil)
			return true
		}
	}
	if b.Plan().Kind() == x86.StepAll || !o.displace(t, b) {
		o.stepInPlace(t, b)
	}
	return t.step == nil && t.m.state == stateStopped
}

// hotHits is how often a breakpoint is hit before it is worth a scratch slot that its
// instruction could do without.
const hotHits = 64

// continueCopy sends the thread through a copy of an instruction that could be
// emulated as well. That needs a system call for its access to memory, which the
// thread makes itself here: the copy comes back behind the instruction.
func (o *stepper) continueCopy(t *thread, b *bkpt.Breakpoint) bool {
	o.reserveScratch()
	slot, ok := o.c.traps.table.Scratch().Direct(b)
	if !ok {
		return false
	}
	b.Plan().Enter(&t.regs.Regs, slot)
	t.known = regsChanged
	o.g.move(t, posInSlot) // every stop looks
	return true
}

// reserveScratch gives the table its scratch area when the first copy is wanted.
func (o *stepper) reserveScratch() {
	if !o.reserved {
		o.reserved = true
		o.findScratch()
	}
}

// displace starts the thread on a copy of the instruction elsewhere.
func (o *stepper) displace(t *thread, b *bkpt.Breakpoint) bool {
	o.reserveScratch()
	slot, direct, err := o.c.traps.table.Scratch().Place(b)
	if err != nil {
		return false
	}
	saved := b.Plan().Enter(&t.regs.Regs, slot)
	t.known = regsChanged
	if direct {
		o.g.move(t, posInSlot) // it comes back by itself; every stop looks
		return true
	}
	t.step = &step{b: b, slot: slot, saved: saved}
	o.beginStep(t)
	return true
}

// beginStep sets the thread going for one instruction. Signals from outside wait for
// the end of it, except of a system call, which must be open to them, and of a step that was asked for.
func (o *stepper) beginStep(t *thread) {
	s := t.step
	if !s.b.Plan().IsSyscall() && !s.masked && s.b.Owners() > 0 {
		if mask, err := ptrace.SigMask(t.tid); err == nil {
			s.mask, s.masked = mask, true
			ptrace.SetSigMask(t.tid, mask|^uint64(synchronous))
		}
	}
	s.flag = t.regs.TrapFlag()
	o.g.spin.expect()
	o.g.flushRegs(t)
	t.known = regsUnread
	if !t.m.step() {
		o.g.refused(t, deedStep)
		o.endStep(t, nil)
		return
	}
	o.g.reports.resuming(t)
	err := ptrace.SingleStep(t.tid, 0) // ESRCH: it is being killed, and reports that
	o.g.trace.did(t, deedStep, 0, err)
}

// stepped looks at a stop of a thread that was making a step: whatever it is, the
// thread has executed the instruction or has not.
func (o *stepper) stepped(t *thread, stop ptrace.Stop) {
	s := t.step
	if o.g.loadRegs(t) != nil {
		return
	}
	done := t.regs.PC() != s.b.Addr
	if s.slot != 0 {
		done = o.c.traps.table.Scratch().Leave(&t.regs.Regs, s.slot, s.saved, o.g.memory.mem)
		t.known = regsChanged
	}
	if s.direct {
		var in bool
		if in, done = o.c.traps.table.Scratch().Relocate(&t.regs.Regs, x86.Saved{}, o.g.memory.mem); in { // else it has come back
			t.known = regsChanged
		}
	}
	trap := stop.Kind == ptrace.KindSignal && stop.Signal == syscall.SIGTRAP
	if !done && t.regs.TrapFlag() != s.flag {
		// In front of a popf the kernel takes the flag that it has set for a step to be
		// the program's own (is_setting_trap_flag in arch/x86/kernel/step.c), and a step
		// that did not come to it leaves it there.
		t.regs.SetTrapFlag(s.flag)
		t.known = regsChanged
	}
	if done && s.b.Plan().IsSyscall() && restarts(t, stop.Kind) {
		t.mark(s.b.Addr)
	}
	at := s.b
	if done {
		at = nil
	}
	switch {
	case !done && trap && o.stepTrapped(t), // one turn of a repeated string instruction: it goes on, and was reported
		done && trap, // trapped takes it away
		stop.Kind == ptrace.KindEventStop && o.pending(t): // comes next
		o.g.move(t, posTrapDue)
	case !done && stop.Kind == ptrace.KindSignal:
		o.originalFault(t)
		if !isFault(stop.Signal) && s.b.Owners() > 0 {
			t.mark(s.b.Addr)
		}
		at = nil
	case !done && s.slot == 0 && !s.direct && t.lone == nil:
		o.beginStep(t) // interrupted before the step: again
		return
	}
	if !done && t.m.position == posTrapDue && t.lone != nil {
		t.lone.turned()
	}
	o.endStep(t, at)
}

// stepTrapped reports whether the SIGTRAP that a thread is stopped with is the end of
// a single step.
func (o *stepper) stepTrapped(t *thread) bool {
	var si ptrace.SigInfo
	if ptrace.GetSigInfo(t.tid, &si) != nil {
		return false
	}
	return si.Code == ptrace.TrapTrace || si.Code == ptrace.TrapBrkpt
}

// endStep puts the thread's signal mask back. The thread is at a breakpoint, or at none, as soon as the SIGTRAP
// that may be due has come.
func (o *stepper) endStep(t *thread, at *bkpt.Breakpoint) {
	if t.step.masked {
		ptrace.SetSigMask(t.tid, t.step.mask)
	}
	t.step = nil
	if t.m.position == posTrapDue {
		t.at = at
		return
	}
	o.putAt(t, at)
}

// putAt notes that a thread stands at a breakpoint which it has to get past; nil: at none.
func (o *stepper) putAt(t *thread, b *bkpt.Breakpoint) {
	if t.at = b; b != nil {
		o.g.move(t, posAtTrap)
	} else {
		o.g.move(t, posFree)
	}
}

// originalFault changes the address of a fault in a scratch slot to that of the
// instruction the slot has a copy of.
func (o *stepper) originalFault(t *thread) {
	var si ptrace.SigInfo
	if !isFault(t.m.signal) || ptrace.GetSigInfo(t.tid, &si) != nil || si.Code <= 0 {
		return
	}
	if addr, ok := o.c.traps.table.Scratch().Origin(si.Fields[0]); ok {
		si.Fields[0] = addr
		ptrace.SetSigInfo(t.tid, &si)
	}
}

// stepInPlace is for the few instructions that can be neither emulated nor moved:
// everybody stands still, the traps leave the text, and the thread steps.
func (o *stepper) stepInPlace(t *thread, b *bkpt.Breakpoint) {
	o.g.stopAtOnce()
	defer o.g.resumeAll()
	if o.g.phase.over() || !o.g.has(t) || t.m.state != stateStopped {
		o.putAt(t, nil)
		return
	}
	t.step = &step{b: b}
	o.beginStep(t)
	o.g.waiter.until(func() bool { return t.step == nil || !o.g.has(t) }, nil)
}

// moveOut moves a thread that stands in a scratch slot to where it would be without.
func (o *stepper) moveOut(t *thread) {
	if t.m.position == posInSlot {
		o.g.move(t, posFree)
	}
	if o.c.traps.table.Len() == 0 || o.g.loadRegs(t) != nil {
		return
	}
	in, done := o.c.traps.table.Scratch().Relocate(&t.regs.Regs, x86.Saved{}, o.g.memory.mem)
	if !in {
		return
	}
	t.known = regsChanged
	o.originalFault(t)
	if done {
		return
	}
	b := o.c.traps.table.At(t.regs.PC())
	if t.m.signal != 0 && b != nil {
		if !isFault(t.m.signal) {
			t.mark(t.regs.PC())
		}
		b = nil
	}
	o.putAt(t, b)
}

// pending reports whether a SIGTRAP is queued for a stopped thread.
func (o *stepper) pending(t *thread) bool {
	p, err := ptrace.Pending(t.tid, syscall.SIGTRAP)
	return err == nil && p
}

// trapPending reports whether a thread that was interrupted has executed a trap that
// the kernel has not reported yet: of two stops that are due at the same time the
// interrupt comes first. Left like that it would be in a trap that is about to
// leave the text.
func (o *stepper) trapPending(t *thread) bool {
	if t.m.position == posTrapDue {
		return true
	}
	if o.g.loadRegs(t) != nil {
		return false
	}
	_, _, ok := o.c.traps.table.Trapped(t.regs.PC())
	return ok && o.pending(t)
}

// awaitTrap lets an interrupted thread go on to the report of its trap, which is its
// next stop: it executes nothing before.
func (o *stepper) awaitTrap(t *thread) {
	o.g.flushRegs(t)
	t.known = regsUnread
	if t.m.pass() != actCont {
		return // it does not stand
	}
	o.g.reports.resuming(t)
	err := ptrace.Cont(t.tid, 0)
	o.g.trace.did(t, deedPass, 0, err)
}
