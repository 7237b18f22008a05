package control

import (
	"syscall"

	"ptools/internal/machine"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/bkpt"
)

// moveOut moves a thread that is stopped in a scratch slot to where it would be without the
// slot.
func (o *stepper) moveOut(t *tracee.Thread) { o.moveOutOf(o.c.traps.table, t) }

// moveOutOf is moveOut for a table that may be that of an earlier program.
func (o *stepper) moveOutOf(table *bkpt.Table, t *tracee.Thread) {
	if t.M.Position() == tracee.PosInSlot {
		o.g.Move(t, tracee.PosFree)
	}
	if table.Len() == 0 || o.g.LoadRegs(t) != nil {
		return
	}
	in, done := table.Scratch().Relocate(&t.Regs.Regs, machine.Saved{}, o.g.Memory.Mem)
	if !in {
		return
	}
	t.Known = tracee.RegsChanged
	o.originalFault(t)
	if done {
		return
	}
	b := table.At(t.Regs.PC())
	if t.M.Signal() != 0 && b != nil {
		if !isFault(t.M.Signal()) && (table != o.c.traps.table || !o.emulate(t, b)) {
			trapsOf(t).mark(t.Regs.PC(), t.Regs.SP())
		}
		b = nil
	}
	o.putAt(t, b)
}

// emulate executes the instruction at a breakpoint for a thread of the target, if that can be computed. A signal that is about to be delivered then comes
// behind the instruction. In front of it the handler may continue the caller on another thread, as the Go runtime does with goroutines, and
// the instruction would be hit once more there (internal/calls: TestTrapped).
func (o *stepper) emulate(t *tracee.Thread, b *bkpt.Breakpoint) bool {
	if t.Role != tracee.RoleThread || b.Plan().Kind() != machine.Emulate {
		return false
	}
	ok, _ := b.Plan().Emulate(&t.Regs.Regs, o.g.Memory.Used)
	if ok {
		t.Known = tracee.RegsChanged
	}
	return ok
}

// pending reports whether a SIGTRAP is queued for a stopped thread.
func (o *stepper) pending(t *tracee.Thread) bool {
	p, err := ptrace.Pending(t.TID, syscall.SIGTRAP)
	return err == nil && p
}

// trapPending reports whether a thread that was interrupted has executed a trap that the
// kernel has not reported yet. The kernel reports the interrupt first if both stops are due
// at the same time. Left like that, the thread would be in a trap that is about to leave
// the text.
func (o *stepper) trapPending(t *tracee.Thread) bool {
	if t.M.Position() == tracee.PosTrapDue {
		return true
	}
	if o.g.LoadRegs(t) != nil {
		return false
	}
	_, _, ok := o.c.traps.table.Trapped(t.Regs.PC())
	return ok && o.pending(t)
}

// awaitTrap resumes an interrupted thread until its trap is reported. That is its next
// stop: it executes nothing before.
func (o *stepper) awaitTrap(t *tracee.Thread) {
	o.g.FlushRegs(t)
	t.Known = tracee.RegsUnread
	if t.M.Pass() != tracee.ActCont {
		return // it is not stopped
	}
	o.g.Reports.Resuming(t)
	err := ptrace.Cont(t.TID, 0)
	o.g.Trace.Did(t, tracee.DeedPass, 0, err)
}
