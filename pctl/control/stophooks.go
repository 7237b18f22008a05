package control

import (
	"syscall"

	"ptools/internal/mem"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/bkpt"
)

// stopHooks is what traps do at the stops of threads. It implements tracee.Hooks.
type stopHooks struct{ x *traps }

// Above makes the record that trapsOf returns.
func (h stopHooks) Above() any { return new(threadTraps) }

// Begins moves a new thread out of the scratch slot that its creator's call was executed in.
func (h stopHooks) Begins(t *tracee.Thread) { h.x.stepper.moveOut(t) }

// AllStopped takes the traps out of the text.
func (h stopHooks) AllStopped() { h.x.disarm() }

// AllRun puts the traps back.
func (h stopHooks) AllRun() { h.x.arm() }

// Stopped handles a stop before everything else does.
func (h stopHooks) Stopped(t *tracee.Thread, s ptrace.Stop) {
	k := trapsOf(t)
	if k.uprobe.state == uprobeBehind {
		k.uprobe.state = uprobeDone
	}
	// In the stop of an exec the record is dropped: the step may have been that of a leader whose number another thread has
	// taken (TestMaskAcrossExec).
	if k.step != nil && s.Kind != ptrace.KindExec {
		h.x.stepper.stepped(t, s)
	}
}

// Resumes is called before a thread that is at a breakpoint runs. It reports false if a step has begun instead.
func (h stopHooks) Resumes(t *tracee.Thread) bool {
	return trapsOf(t).at == nil || h.x.stepper.stepOff(t)
}

// TrapDue reports whether a thread that has not stopped may have hit a trap that it has not reported, or be on
// its way past one.
func (h stopHooks) TrapDue(t *tracee.Thread) bool {
	return len(h.x.table.AppendSetBacks(nil)) > 0 || t.M.Position() != tracee.PosFree || trapsOf(t).uprobe.unmasked || h.x.signalDue(t)
}

// Answers reports whether a thread that does not react to an interrupt has to be waited for: it may be in a
// scratch slot, waiting for a page that its operand is on.
func (h stopHooks) Answers(t *tracee.Thread) bool {
	k := trapsOf(t)
	if k.step != nil {
		return k.step.slot != 0 || k.step.direct
	}
	if t.M.Position() != tracee.PosInSlot {
		return false
	}
	task, err := procfs.OpenTask(h.x.g.PIDOf(t), t.TID)
	if err != nil {
		return false
	}
	defer task.Close()
	sc, err := task.Syscall()
	if err != nil || sc.Running {
		return true
	}
	_, in := h.x.table.Scratch().Origin(sc.PC)
	return in
}

// Signalled handles a signal-delivery stop. The signal is the target's unless it is that of a trap of ours.
func (h stopHooks) Signalled(t *tracee.Thread) {
	sig := t.M.Signal()
	if sig == syscall.SIGTRAP && h.x.trapped(t) {
		h.x.g.TakeSignal(t)
		return
	}
	if h.x.probes.probed(t) {
		return
	}
	h.x.stepper.moveOut(t)
	if pc := h.x.g.Calls.UndoRewind(t); pc != 0 {
		trapsOf(t).unmark(pc, t.Regs.SP()) // it does not come back to the call
	}
	if h.x.g.Calls.WouldIgnore(t, sig) {
		h.x.g.Calls.Rewind(t)
	}
	if t.Role == tracee.RoleThread {
		h.x.c.caught(t)
	}
}

// Interrupted handles a thread that our interrupt has stopped. It returns false if the thread has executed a
// trap that the kernel reports next. Then the thread was resumed to that stop.
func (h stopHooks) Interrupted(t *tracee.Thread) bool {
	if h.x.stepper.trapPending(t) || h.x.probes.uprobeHitPending(t) {
		h.x.stepper.awaitTrap(t)
		return false
	}
	h.x.stepper.moveOut(t)
	return true
}

// Settles reports the hit of a thread that is about to be resumed, if one is due.
func (h stopHooks) Settles(t *tracee.Thread) bool {
	k := trapsOf(t)
	if k.lone != nil && h.x.g.Stopper.Holds() > 0 && t.M.Holds() == 0 {
		h.x.g.Stopper.Hold(t) // it has made a step while all others are stopped
	}
	if k.uprobe.state != uprobeDue || t.M.Holds() > 0 {
		return true
	}
	h.x.probes.reportUprobeHit(t)
	return t.M.State() == tracee.StateStopped && h.x.g.Has(t)
}

// StandsAlone handles a thread that is to be stopped by itself. It returns false for any other.
func (h stopHooks) StandsAlone(t *tracee.Thread) bool {
	if trapsOf(t).lone == nil {
		return false
	}
	h.x.stepper.settleLone(t)
	return true
}

// Flushes is called before the registers of a thread are written back. While handlers are called it reports false: they may
// wait, and go on with what they have seen and changed (TestHandlerThatWaits).
func (h stopHooks) Flushes(t *tracee.Thread) bool {
	switch trapsOf(t).uprobe.state {
	case uprobeShown:
		return false
	case uprobeBehind:
		h.x.probes.leaveUprobeHit(t)
	}
	return true
}

// Dropped forgets a thread that is gone.
func (h stopHooks) Dropped(t *tracee.Thread) {
	k := trapsOf(t)
	if k.lone != nil {
		k.lone.tell(nil, ErrNoThread)
	}
	if h.x.probes.signals != nil {
		h.x.probes.signals.Forget(t.TID)
	}
}

// Copied takes our breakpoints out of the memory of a process that was forked off the target. Then it hands the
// process over, or detaches it, before the process has run an instruction.
func (h stopHooks) Copied(t *tracee.Thread) {
	creator := t.Creator
	t.Creator = nil
	h.x.g.Drop(t)
	table := h.x.tableOf(t.TID)
	h.x.clean(t, table)
	h.x.stepper.moveOutOf(table, t)
	h.x.g.FlushRegs(t)
	if !h.x.c.following.takeOver(t, ptrace.KindFork) {
		h.x.g.Leaver.Detach(t, t.M.Signal())
	}
	h.x.g.Births.ChildGone(creator)
}

// Begot reports whether a process has our traps in its memory.
func (h stopHooks) Begot(pid int) bool {
	m, err := mem.OpenPatient(pid)
	if err != nil {
		return false
	}
	defer m.Close()
	for _, rule := range h.x.table.AppendSetBacks(nil) {
		var b [1]byte
		_, err := m.Quick().ReadAt(b[:], int64(rule.To))
		return err == nil && bkpt.HasTrap(b[:])
	}
	return false
}

// Strayed takes control of a process that the target has made and that runs untraced.
func (h stopHooks) Strayed(pid int) { h.x.c.following.takePresent(pid) }
