package control

import (
	"syscall"

	"ptools/internal/machine"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/bkpt"
)

// stepper gets threads past breakpoints.
type stepper struct {
	c        *Controller
	g        *tracee.Group
	reserved bool // the table has been given its scratch area, or there is none
}

// step is a single step that a thread is making.
type step struct {
	b      *bkpt.Breakpoint
	slot   uint64 // 0: in the instruction's own place, or direct
	direct bool   // in a slot from which the thread would come back by itself
	saved  machine.Saved
	mask   uint64
	masked bool // mask has to be put back
	flag   bool // the thread's own trap flag, before
}

// synchronous has the signals that a thread's own instruction raises. They are not blocked
// during a step: the kernel ends a process that blocks one of them when it is raised.
const synchronous = 1<<(syscall.SIGSEGV-1) | 1<<(syscall.SIGBUS-1) | 1<<(syscall.SIGFPE-1) |
	1<<(syscall.SIGILL-1) | 1<<(syscall.SIGTRAP-1) | 1<<(syscall.SIGSYS-1)

// isFault reports whether a signal is of an instruction's own making. The handler of such a
// signal may return behind the instruction, or nowhere near. If it returns to the
// instruction, the instruction is executed once more, and is hit once more.
func isFault(sig syscall.Signal) bool { return sig > 0 && synchronous&(1<<(sig-1)) != 0 }

// These are the values that an interrupted system call returns inside the kernel, which
// then decides whether the call is made again (arch/x86/kernel/signal.c).
const (
	restartSys   = -512 // unless a handler runs without SA_RESTART
	restartNoInt = -513 // always
	restartNoHnd = -514 // unless a handler runs
	restartBlock = -516 // likewise, by restart_syscall
)

// restarts reports whether the thread is sure to make its system call again. Then it goes
// back to the instruction, and is not to be reported there a second time.
func restarts(t *tracee.Thread, kind ptrace.Kind) bool {
	_, result, ok := t.Regs.SyscallReturn()
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

// stepOff gets a thread that is about to run past the breakpoint that it is at, so that no
// other thread can run past the breakpoint meanwhile. It returns false if that takes a
// step, which has begun.
func (o *stepper) stepOff(t *tracee.Thread) bool {
	k := trapsOf(t)
	b := k.at
	k.at = nil
	o.g.Latency.Hit()
	if o.g.LoadRegs(t) != nil || t.Regs.PC() != b.Addr || !b.Armed() {
		o.putAt(t, nil)
		return true
	}
	if sig := t.M.Signal(); sig != 0 {
		// The signal's handler runs first and comes back here.
		if isFault(sig) || !o.emulate(t, b) {
			k.mark(b.Addr, t.Regs.SP())
		}
		o.putAt(t, nil)
		return true
	}
	if b.Hits > hotHits && b.Plan().UsesMemory() && o.continueCopy(t, b) {
		return true
	}
	if b.Plan().Kind() == machine.Emulate {
		if ok, _ := b.Plan().Emulate(&t.Regs.Regs, o.g.Memory.Used); ok {
			t.Known = tracee.RegsChanged
			o.putAt(t, nil)
			return true
		}
	}
	if b.Plan().Kind() == machine.StepAll || !o.displace(t, b) {
		o.stepInPlace(t, b)
	}
	// stepInPlace has waited: the thread may have ended, and its number be another's (TestStepAcrossExec).
	return k.step == nil && t.M.State() == tracee.StateStopped && o.g.Has(t)
}

// hotHits is how often a breakpoint is hit before it is worth a scratch slot that its
// instruction could do without.
const hotHits = 64

// continueCopy sends the thread through a copy of an instruction that could be emulated as
// well. Emulation would need a system call for the access to memory. In the copy the thread
// makes that access itself. The copy jumps back behind the instruction.
func (o *stepper) continueCopy(t *tracee.Thread, b *bkpt.Breakpoint) bool {
	o.reserveScratch()
	slot, ok := o.c.traps.table.Scratch().Direct(b)
	if !ok {
		return false
	}
	b.Plan().Enter(&t.Regs.Regs, slot)
	t.Known = tracee.RegsChanged
	o.g.Move(t, tracee.PosInSlot) // the next stop moves it out, if it is still there
	return true
}

// reserveScratch gives the table its scratch area when the first copy is wanted.
func (o *stepper) reserveScratch() {
	if !o.reserved {
		o.reserved = true
		o.findScratch()
	}
}

// displace starts the thread on a copy of the instruction elsewhere. It returns false if
// there is no slot for one.
func (o *stepper) displace(t *tracee.Thread, b *bkpt.Breakpoint) bool {
	o.reserveScratch()
	slot, direct, err := o.c.traps.table.Scratch().Place(b)
	if err != nil {
		return false
	}
	saved := b.Plan().Enter(&t.Regs.Regs, slot)
	t.Known = tracee.RegsChanged
	if direct {
		o.g.Move(t, tracee.PosInSlot) // it comes back by itself, or the next stop moves it out
		return true
	}
	trapsOf(t).step = &step{b: b, slot: slot, saved: saved}
	o.beginStep(t)
	return true
}

// beginStep has the thread execute one instruction. Signals from outside wait for the end
// of the step. They do not in a system call, which must be open to them, nor in a step that
// was asked for.
func (o *stepper) beginStep(t *tracee.Thread) {
	s := trapsOf(t).step
	if !s.b.Plan().IsSyscall() && !s.masked && s.b.Owners() > 0 {
		if mask, err := ptrace.SigMask(t.TID); err == nil {
			s.mask, s.masked = mask, true
			ptrace.SetSigMask(t.TID, mask|^uint64(synchronous))
		}
	}
	s.flag = t.Regs.TrapFlag()
	o.g.Spin.Expect()
	o.singleStep(t, 0)
}

// singleStep resumes a thread for one instruction, or into the handler of a signal.
func (o *stepper) singleStep(t *tracee.Thread, sig syscall.Signal) {
	o.g.FlushRegs(t)
	t.Known = tracee.RegsUnread
	if !t.M.Step() {
		o.g.Refused(t, tracee.DeedStep)
		o.endStep(t, nil)
		return
	}
	o.g.Reports.Resuming(t)
	err := ptrace.SingleStep(t.TID, sig) // ESRCH: it is being killed, and reports that
	o.g.Trace.Did(t, tracee.DeedStep, uint64(sig), err)
}

// stepped handles a stop of a thread that was making a step. Whatever the stop is, the
// thread has executed the instruction or has not.
func (o *stepper) stepped(t *tracee.Thread, stop ptrace.Stop) {
	k := trapsOf(t)
	s := k.step
	if o.g.LoadRegs(t) != nil {
		return
	}
	done := t.Regs.PC() != s.b.Addr
	if s.slot != 0 {
		done = o.c.traps.table.Scratch().Exit(&t.Regs.Regs, s.slot, s.saved, o.g.Memory.Mem)
		t.Known = tracee.RegsChanged
	}
	if s.direct {
		var in bool
		if in, done = o.c.traps.table.Scratch().Relocate(&t.Regs.Regs, machine.Saved{}, o.g.Memory.Mem); in { // else it has come back
			t.Known = tracee.RegsChanged
		}
	}
	trap := stop.Kind == ptrace.KindSignal && stop.Signal == syscall.SIGTRAP
	if !done && t.Regs.TrapFlag() != s.flag {
		// In front of a popf the kernel takes the flag that it has set for the step for the
		// program's own (is_setting_trap_flag in arch/x86/kernel/step.c). If the step did
		// not come to the popf, the kernel leaves the flag set.
		t.Regs.SetTrapFlag(s.flag)
		t.Known = tracee.RegsChanged
	}
	if done && s.b.Plan().IsSyscall() && restarts(t, stop.Kind) {
		k.mark(s.b.Addr, t.Regs.SP())
	}
	at := s.b
	if done || s.b.Owners() == 0 { // no breakpoint: the step was asked for, or the breakpoint has been removed
		at = nil
	}
	switch {
	case !done && trap && o.stepTrapped(t), // one turn of a repeated string instruction: it continues, and was reported
		done && trap, // trapped takes the SIGTRAP
		stop.Kind == ptrace.KindEventStop && o.pending(t): // the SIGTRAP comes next
		o.g.Move(t, tracee.PosTrapDue)
		k.cut = stop.Kind == ptrace.KindEventStop
	case !done && stop.Kind == ptrace.KindSignal:
		o.originalFault(t)
		if !isFault(stop.Signal) && s.b.Owners() > 0 {
			k.mark(s.b.Addr, t.Regs.SP())
		}
		at = nil
	case !done && s.slot == 0 && !s.direct && s.b.Owners() > 0 && k.lone == nil:
		o.beginStep(t) // interrupted before the step, which begins again
		return
	}
	if !done && t.M.Position() == tracee.PosTrapDue && k.lone != nil {
		k.lone.turned()
	}
	o.endStep(t, at)
}

// stepTrapped reports whether the SIGTRAP that a thread is stopped with is the end of
// a single step.
func (o *stepper) stepTrapped(t *tracee.Thread) bool {
	var si ptrace.SigInfo
	if ptrace.GetSigInfo(t.TID, &si) != nil {
		return false
	}
	return si.Code == ptrace.TrapTrace || si.Code == ptrace.TrapBrkpt
}

// endStep puts the thread's signal mask back. The thread is at a breakpoint, or at none, as soon as the SIGTRAP
// that may be due has come.
func (o *stepper) endStep(t *tracee.Thread, at *bkpt.Breakpoint) {
	k := trapsOf(t)
	if k.step.masked {
		ptrace.SetSigMask(t.TID, k.step.mask)
	}
	k.step = nil
	if t.M.Position() == tracee.PosTrapDue {
		k.at = at
		return
	}
	o.putAt(t, at)
}

// callAgain moves a thread back in front of a call that our interrupt has ended in the middle of a step. The breakpoint at the
// call, if there is one, has been reported.
func (o *stepper) callAgain(t *tracee.Thread) {
	pc := t.Regs.PC()
	o.g.Calls.Rewind(t)
	if t.Regs.PC() == pc {
		return
	}
	if b := o.c.traps.table.At(t.Regs.PC()); b != nil && !b.After() {
		o.putAt(t, b)
	}
}

// putAt notes that a thread is at a breakpoint that it has to get past; nil: at none.
func (o *stepper) putAt(t *tracee.Thread, b *bkpt.Breakpoint) {
	if trapsOf(t).at = b; b != nil {
		o.g.Move(t, tracee.PosAtTrap)
	} else {
		o.g.Move(t, tracee.PosFree)
	}
}

// originalFault changes the address of a fault in a scratch slot to that of the instruction
// of which the slot has a copy.
func (o *stepper) originalFault(t *tracee.Thread) {
	var si ptrace.SigInfo
	if !isFault(t.M.Signal()) || ptrace.GetSigInfo(t.TID, &si) != nil || si.Code <= 0 {
		return
	}
	if addr, ok := o.c.traps.table.Scratch().Origin(si.Fields[0]); ok {
		si.Fields[0] = addr
		ptrace.SetSigInfo(t.TID, &si)
	}
}

// stepInPlace is for the few instructions that can be neither emulated nor moved. All
// threads are stopped, the traps leave the text, and the thread steps.
func (o *stepper) stepInPlace(t *tracee.Thread, b *bkpt.Breakpoint) {
	k := trapsOf(t)
	o.g.Stopper.StopAtOnce()
	defer o.g.Stopper.ResumeAll()
	if o.g.Phase().Over() || !o.g.Has(t) || t.M.State() != tracee.StateStopped {
		o.putAt(t, nil)
		return
	}
	k.step = &step{b: b}
	o.beginStep(t)
	o.g.Waiter.Until(func() bool { return k.step == nil || !o.g.Has(t) }, nil)
}
