package control

import (
	"syscall"

	"ptools/internal/mem"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/pctl/bkpt"
)

// traps are the breakpoints of the target's present program, of whatever kind, and what becomes of threads at them.
type traps struct {
	c        *Controller
	g        *tracees
	table    *bkpt.Table
	breaks   map[uint64][]*Break
	stepper  stepper
	probes   probes
	killRisk killRisk
	ground   ground
}

func (x *traps) init(c *Controller) {
	none := noMemory{syscall.ESRCH}
	x.c, x.g, x.breaks, x.table = c, &c.tracees, map[uint64][]*Break{}, bkpt.NewTable(none)
	x.stepper.c, x.stepper.g = c, x.g
	x.g.memory.mem, x.g.memory.user = none, none
	x.probes.init(c)
	c.tracees.reports.text = x.table
}

// begins moves a new thread out of the scratch slot that its creator's call was executed in.
func (x *traps) begins(t *thread) { x.stepper.moveOut(t) }

// allStopped takes the traps out of the text.
func (x *traps) allStopped() { x.disarm() }

// allRun puts the traps back.
func (x *traps) allRun() { x.arm() }

// stopped looks at a stop ahead of everything else.
func (x *traps) stopped(t *thread, s ptrace.Stop) {
	if t.uprobe.state == uprobeBehind {
		t.uprobe.state = uprobeDone
	}
	if t.step != nil {
		x.stepper.stepped(t, s)
	}
}

// resumes is called before a thread that is at a breakpoint runs. It reports false if a step has begun instead.
func (x *traps) resumes(t *thread) bool { return t.at == nil || x.stepper.stepOff(t) }

// trapDue reports whether a thread that has not stopped may have met a trap that it has not reported, or be on its way
// past one.
func (x *traps) trapDue(t *thread) bool {
	return len(x.table.AppendSetBacks(nil)) > 0 || t.m.position != posFree || t.uprobe.unmasked || x.signalDue(t)
}

// signalDue reports whether the signal of a trap of ours may be waiting for a thread.
func (x *traps) signalDue(t *thread) bool {
	ours := uint64(1) << (syscall.SIGTRAP - 1)
	if x.probes.signals != nil {
		ours |= 1 << (x.probes.signal - 1)
	}
	st, err := procfs.ReadTaskStatus(x.g.pidOf(t), t.tid)
	return err != nil || st.SigPnd&ours != 0
}

// answers reports whether a thread that does not answer now has to be waited for: it may stand in a scratch
// slot, waiting for a page that its operand is on.
func (x *traps) answers(t *thread) bool {
	if t.step != nil {
		return t.step.slot != 0 || t.step.direct
	}
	if t.m.position != posInSlot {
		return false
	}
	task, err := procfs.OpenTask(x.g.pidOf(t), t.tid)
	if err != nil {
		return false
	}
	defer task.Close()
	sc, err := task.Syscall()
	if err != nil || sc.Running {
		return true
	}
	_, in := x.table.Scratch().Origin(sc.PC)
	return in
}

// signalled handles a signal-delivery-stop: the signal is the target's unless it is
// the trap of a breakpoint.
func (x *traps) signalled(t *thread) {
	sig := t.m.signal
	if sig == syscall.SIGTRAP && x.trapped(t) {
		x.g.takeSignal(t)
		return
	}
	if x.probes.probed(t) {
		return
	}
	x.stepper.moveOut(t)
	x.g.calls.undoRewind(t)
	if x.g.calls.wouldIgnore(t, sig) {
		x.g.calls.rewind(t)
	}
	if t.role == roleThread {
		x.c.caught(t)
	}
}

// interrupted looks at a thread that our interrupt has stopped. It reports false if that is not the stop to go
// on from: the thread has executed a trap that the kernel reports next, and is let come to it.
func (x *traps) interrupted(t *thread) bool {
	if x.stepper.trapPending(t) || x.probes.uprobeHitPending(t) {
		x.stepper.awaitTrap(t)
		return false
	}
	x.stepper.moveOut(t)
	return true
}

// settles reports the hit of a thread that is about to run on, if one is due.
func (x *traps) settles(t *thread) bool {
	if t.lone != nil && x.g.holds > 0 && t.m.holds == 0 {
		x.g.hold(t) // it has made a step while everybody stands
	}
	if t.uprobe.state != uprobeDue || t.m.holds > 0 {
		return true
	}
	x.probes.reportUprobeHit(t)
	return t.m.state == stateStopped && x.g.has(t)
}

// standsAlone goes on with a thread that has to stand by itself.
func (x *traps) standsAlone(t *thread) bool {
	if t.lone == nil {
		return false
	}
	x.stepper.settleLone(t)
	return true
}

// flushes is called before the registers of a thread are written back.
func (x *traps) flushes(t *thread) {
	if t.uprobe.state == uprobeBehind {
		x.probes.leaveUprobeHit(t)
	}
}

// dropped forgets a thread that is gone.
func (x *traps) dropped(t *thread) {
	if t.lone != nil {
		t.lone.tell(nil, ErrNoThread)
	}
	if x.probes.signals != nil {
		x.probes.signals.Forget(t.tid)
	}
}

// copied lifts our breakpoints out of the memory of a process that was forked off the
// target, and detaches it before it has run an instruction.
func (x *traps) copied(t *thread) {
	creator := t.creator
	t.creator = nil
	x.g.drop(t)
	x.clean(t)
	x.stepper.moveOut(t)
	x.g.flushRegs(t)
	x.g.leaver.detach(t, t.m.signal)
	x.g.births.childGone(creator)
}

// clean takes our breakpoints out of the memory of a forked process. Where there is no
// descriptor to write to that memory the traps leave it word by word.
func (x *traps) clean(t *thread) {
	x.hideLeaving()
	g := &ground{pid: t.tid}
	defer g.close()
	if m, err := mem.Open(t.tid); err == nil {
		defer m.Close()
		if m.Writable() {
			x.table.Clean(m, g)
			return
		}
	}
	x.table.Clean(ptrace.Memory{TID: t.tid}, g)
}

// newTable is for the present address space.
func (x *traps) newTable() *bkpt.Table {
	t := bkpt.NewTable(x.g.memory.mem)
	x.ground.close()
	x.ground.pid = x.g.pid
	t.SetGround(&x.ground)
	x.g.reports.text = t
	return t
}
