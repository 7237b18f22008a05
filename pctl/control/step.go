package control

import (
	"slices"
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/internal/x86"
	"ptools/pctl/bkpt"
)

// step is a single step that a thread is making.
type step struct {
	b      *bkpt.Breakpoint
	slot   uint64 // 0: in the instruction's own place
	saved  x86.Saved
	mask   uint64
	masked bool // mask has to be put back
	flag   bool // the thread's own trap flag, before
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
func (c *Controller) stepOff(t *thread) bool {
	b := t.over
	t.over = nil
	c.latency.hit()
	if c.loadRegs(t) != nil || t.regs.PC() != b.Addr || !b.Armed() {
		return true
	}
	if t.m.signal != 0 {
		// The signal's handler runs first and comes back here.
		t.mark(b.Addr)
		return true
	}
	if b.Hits > hotHits && b.Plan().UsesMemory() && c.continueCopy(t, b) {
		return true
	}
	if b.Plan().Kind() == x86.Emulate {
		if ok, _ := b.Plan().Emulate(&t.regs.Regs, c.user); ok {
			t.dirty = true
			return true
		}
	}
	if b.Plan().Kind() == x86.StepAll || !c.displace(t, b) {
		c.stepInPlace(t, b)
	}
	return t.step == nil && t.m.state == stateStopped
}

// hotHits is how often a breakpoint is hit before it is worth a scratch slot that its
// instruction could do without.
const hotHits = 64

// continueCopy sends the thread through a copy of an instruction that could be
// emulated as well. That needs a system call for its access to memory, which the
// thread makes itself here: the copy comes back behind the instruction.
func (c *Controller) continueCopy(t *thread, b *bkpt.Breakpoint) bool {
	c.reserveScratch()
	slot, ok := c.table.Scratch().Direct(b)
	if !ok {
		return false
	}
	b.Plan().Enter(&t.regs.Regs, slot)
	t.dirty, t.inSlot = true, true // every stop looks
	return true
}

// reserveScratch gives the table its scratch area when the first copy is wanted.
func (c *Controller) reserveScratch() {
	if !c.reserved {
		c.reserved = true
		c.findScratch()
	}
}

// displace starts the thread on a copy of the instruction elsewhere.
func (c *Controller) displace(t *thread, b *bkpt.Breakpoint) bool {
	c.reserveScratch()
	slot, direct, err := c.table.Scratch().Place(b)
	if err != nil {
		return false
	}
	saved := b.Plan().Enter(&t.regs.Regs, slot)
	t.dirty = true
	if direct {
		t.inSlot = true // it comes back by itself; every stop looks
		return true
	}
	t.step = &step{b: b, slot: slot, saved: saved}
	c.beginStep(t)
	return true
}

// beginStep sets the thread going for one instruction. Signals from outside wait for
// the end of it, except of a system call, which must be open to them, and of a step that was asked for.
func (c *Controller) beginStep(t *thread) {
	s := t.step
	if !s.b.Plan().IsSyscall() && !s.masked && s.b.Owners() > 0 {
		if mask, err := ptrace.SigMask(t.tid); err == nil {
			s.mask, s.masked = mask, true
			ptrace.SetSigMask(t.tid, mask|^uint64(synchronous))
		}
	}
	s.flag = t.regs.TrapFlag()
	c.spin.expect()
	c.flushRegs(t)
	t.m.state, t.regOK = stateRunning, false
	c.resuming(t)
	err := ptrace.SingleStep(t.tid, 0) // ESRCH: it is being killed, and reports that
	c.trace.did(t, deedStep, 0, err)
}

// stepped looks at a stop of a thread that was making a step: whatever it is, the
// thread has executed the instruction or has not.
func (c *Controller) stepped(t *thread, stop ptrace.Stop) {
	s := t.step
	if c.loadRegs(t) != nil {
		return
	}
	done := t.regs.PC() != s.b.Addr
	if s.slot != 0 {
		done = c.table.Scratch().Leave(&t.regs.Regs, s.slot, s.saved, c.mem)
		t.dirty = true
	}
	trap := stop.Kind == ptrace.KindSignal && stop.Signal == syscall.SIGTRAP
	turned := false // a repeated string instruction has made one turn
	if !done && t.regs.TrapFlag() != s.flag {
		// In front of a popf the kernel takes the flag that it has set for a step to be
		// the program's own (is_setting_trap_flag in arch/x86/kernel/step.c), and a step
		// that did not come to it leaves it there.
		t.regs.SetTrapFlag(s.flag)
		t.dirty = true
	}
	if done && s.b.Plan().IsSyscall() && restarts(t, stop.Kind) {
		t.mark(s.b.Addr)
	}
	switch {
	case !done && trap && c.stepTrapped(t):
		turned = true // it goes on, and was reported
		t.stepTrap = true
		t.over = s.b
	case done && trap:
		t.stepTrap = true // trapped takes it away
	case stop.Kind == ptrace.KindEventStop && c.pending(t):
		t.stepTrap = true // comes next
		if !done {
			turned = true
			t.over = s.b
		}
	case !done && stop.Kind == ptrace.KindSignal:
		c.originalFault(t)
		if !isFault(stop.Signal) && s.b.Owners() > 0 {
			t.mark(s.b.Addr)
		}
	case !done && s.slot == 0 && t.lone == nil:
		c.beginStep(t) // interrupted before the step: again
		return
	case !done:
		t.over = s.b
	}
	if turned && t.lone != nil {
		t.lone.turned()
	}
	c.endStep(t)
}

// stepTrapped reports whether the SIGTRAP that a thread is stopped with is the end of
// a single step.
func (c *Controller) stepTrapped(t *thread) bool {
	var si ptrace.SigInfo
	if ptrace.GetSigInfo(t.tid, &si) != nil {
		return false
	}
	return si.Code == ptrace.TrapTrace || si.Code == ptrace.TrapBrkpt
}

// endStep puts the thread's signal mask back.
func (c *Controller) endStep(t *thread) {
	if t.step.masked {
		ptrace.SetSigMask(t.tid, t.step.mask)
	}
	t.step = nil
}

// abandonStep is endStep for a thread that is gone.
func (c *Controller) abandonStep(t *thread) { t.step = nil }

// originalFault changes the address of a fault in a scratch slot to that of the
// instruction the slot has a copy of.
func (c *Controller) originalFault(t *thread) {
	var si ptrace.SigInfo
	if !isFault(t.m.signal) || ptrace.GetSigInfo(t.tid, &si) != nil || si.Code <= 0 {
		return
	}
	if addr, ok := c.table.Scratch().Origin(si.Fields[0]); ok {
		si.Fields[0] = addr
		ptrace.SetSigInfo(t.tid, &si)
	}
}

// stepInPlace is for the few instructions that can be neither emulated nor moved:
// everybody stands still, the traps leave the text, and the thread steps.
func (c *Controller) stepInPlace(t *thread, b *bkpt.Breakpoint) {
	c.stopAtOnce()
	defer c.resumeAll()
	if c.over || c.threads[t.tid] != t || t.m.state != stateStopped {
		return
	}
	t.step = &step{b: b}
	c.beginStep(t)
	c.until(func() bool { return t.step == nil || c.threads[t.tid] != t }, nil)
}

// moveOut moves a thread that stands in a scratch slot to where it would be without.
func (c *Controller) moveOut(t *thread) {
	t.inSlot = false
	if c.table.Len() == 0 || c.loadRegs(t) != nil {
		return
	}
	in, done := c.table.Scratch().Relocate(&t.regs.Regs, x86.Saved{}, c.mem)
	if !in {
		return
	}
	t.dirty = true
	c.originalFault(t)
	if !done {
		t.over = c.table.At(t.regs.PC())
		if t.m.signal != 0 && t.over != nil {
			if !isFault(t.m.signal) {
				t.mark(t.regs.PC())
			}
			t.over = nil
		}
	}
}

// inScratch reports whether a thread that does not answer may stand in a scratch
// slot, waiting for a page that its operand is on.
func (c *Controller) inScratch(t *thread) bool {
	if t.step != nil {
		return t.step.slot != 0
	}
	if !t.inSlot {
		return false
	}
	task, err := procfs.OpenTask(c.pidOf(t), t.tid)
	if err != nil {
		return false
	}
	defer task.Close()
	sc, err := task.Syscall()
	if err != nil || sc.Running {
		return true
	}
	_, in := c.table.Scratch().Origin(sc.PC)
	return in
}

// pending reports whether a SIGTRAP is queued for a stopped thread.
func (c *Controller) pending(t *thread) bool {
	p, err := ptrace.Pending(t.tid, syscall.SIGTRAP)
	return err == nil && p
}

// trapPending reports whether a thread that was interrupted has executed a trap that
// the kernel has not reported yet: of two stops that are due at the same time the
// interrupt comes first. Left like that it would be in a trap that is about to
// leave the text.
func (c *Controller) trapPending(t *thread) bool {
	if t.stepTrap {
		return true
	}
	if c.loadRegs(t) != nil {
		return false
	}
	_, _, ok := c.table.Trapped(t.regs.PC())
	return ok && c.pending(t)
}

// awaitTrap lets an interrupted thread go on to the report of its trap, which is its
// next stop: it executes nothing before.
func (c *Controller) awaitTrap(t *thread) {
	c.flushRegs(t)
	t.m.state, t.regOK = stateRunning, false
	c.resuming(t)
	err := ptrace.Cont(t.tid, 0)
	c.trace.did(t, deedPass, 0, err)
}
