package control

import (
	"ptools/internal/perfevent"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/bkpt"
)

// uprobeHit is what is known of a thread and the probe it has run through.
type uprobeHit struct {
	taken  uint64 // arrivals that have been handled
	state  uprobeState
	hit    perfevent.Hit // the last one, with the registers from before the instruction
	missed uint64        // arrivals before it that did not stop the thread

	addr  uint64      // of the instruction
	after ptrace.Regs // those that the thread really has

	unmasked bool // mask has to be put back
	mask     uint64
}

// uprobeState says what is to be done about a thread's last hit of a probe.
type uprobeState uint8

const (
	uprobeDone   uprobeState = iota
	uprobeDue                // it has still to be reported
	uprobeShown              // handlers are called; the registers are those from before the instruction, which has run
	uprobeBehind             // they have been; the registers are still those
)

// probed handles a signal that may be that of a probe. It reports whether it is.
func (p *probes) probed(t *tracee.Thread) bool {
	k := trapsOf(t)
	if p.signals == nil || t.M.Signal() != p.signal || !p.newUprobeHit(t) {
		return false
	}
	if k.uprobe.unmasked {
		k.uprobe.unmasked = false
		ptrace.SetSigMask(t.TID, k.uprobe.mask)
	}
	var si ptrace.SigInfo
	if ptrace.GetSigInfo(t.TID, &si) != nil || si.Code == ptrace.SIKernel {
		p.g.TakeSignal(t)
		p.g.Reports.Read() // the signal is ours, so its wait status is consumed
	} // else another program's signal was pending before, and ours was merged into it
	p.g.Calls.Rewind(t)
	if t.Role != tracee.RoleThread {
		return true
	}
	a := &k.uprobe
	a.hit, a.state, a.missed = p.hit, uprobeDue, p.hit.Count-a.taken-1
	a.taken = p.hit.Count
	p.g.Spin.Earn()
	return true
}

// newUprobeHit reports whether a stopped thread has reached a probe since its last hit that was
// handled. p.hit has the new one.
func (p *probes) newUprobeHit(t *tracee.Thread) bool {
	return p.signals.Take(t.TID, &p.hit) && p.hit.Count != trapsOf(t).uprobe.taken
}

// reportUprobeHit reports the hit of a thread that is not held. Handlers see the registers from
// before the instruction.
func (p *probes) reportUprobeHit(t *tracee.Thread) {
	k := trapsOf(t)
	a := &k.uprobe
	a.state = uprobeDone
	var before ptrace.Regs
	if p.g.LoadRegs(t) != nil {
		return
	}
	before = t.Regs
	before.SetSaved(&a.hit.Regs)
	b := p.c.traps.table.At(before.PC())
	if b == nil {
		b = p.c.traps.foundAt(before.PC())
	}
	if b == nil || !p.stop.Has(b) {
		return // removed since, or another mapping of text that has breakpoints by address
	}
	a.addr = b.Addr
	if p.stillThere(t, b, before) {
		p.g.FlushRegs(t)
		a.state, a.after, t.Regs = uprobeShown, t.Regs, before
		if k.unmark(b.Addr, t.Regs.SP()) {
			t.Regs, a.state = a.after, uprobeDone
			return // a handler has changed the registers, and the instruction has run once more
		}
	}
	p.g.Latency.Hit()
	p.countMissed(b, a.missed)
	p.c.traps.hit(t, b)
}

// countMissed counts hits that did not stop the thread.
func (p *probes) countMissed(bp *bkpt.Breakpoint, n uint64) {
	if n == 0 {
		return
	}
	bp.Hits += n
	for _, b := range p.c.traps.breaks[bp.Addr] {
		b.hits.Add(n)
		if b.symbol != nil {
			b.symbol.hits.Add(n)
		}
	}
}

// stillThere reports whether a thread is where the instruction has left it. A thread that had
// the signal blocked is elsewhere.
func (p *probes) stillThere(t *tracee.Thread, b *bkpt.Breakpoint, before ptrace.Regs) bool {
	if trapsOf(t).uprobe.missed > 0 {
		return false
	}
	p.there.Memory = p.g.Memory.Used
	ok, err := b.Plan().Emulate(&before.Regs, &p.there)
	return ok && err == nil && before.PC() == t.Regs.PC() && before.SP() == t.Regs.SP()
}

// readOnly is memory to which nothing is written: what an instruction has stored is there
// already.
type readOnly struct{ bkpt.Memory }

func (readOnly) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// leaveUprobeHit gives a thread back the registers that it really has, unless a handler has
// changed what it was shown. Then the changed registers count. If they are at the breakpoint,
// the instruction is executed once more.
func (p *probes) leaveUprobeHit(t *tracee.Thread) {
	k := trapsOf(t)
	k.uprobe.state = uprobeDone
	switch {
	case t.Known != tracee.RegsChanged:
		t.Regs = k.uprobe.after
	case t.Regs.PC() == k.uprobe.addr:
		if b := p.c.traps.table.At(k.uprobe.addr); b != nil && b.Armed() {
			k.mark(k.uprobe.addr, t.Regs.SP())
		}
	}
}

// uprobeHitPending reports whether an interrupted thread has reached a probe, its signal is
// still to come, and the signal can come before the thread runs. It unblocks the signal for
// that.
func (p *probes) uprobeHitPending(t *tracee.Thread) bool {
	k := trapsOf(t)
	if p.signals == nil || !p.newUprobeHit(t) {
		return false
	}
	if pending, err := ptrace.Pending(t.TID, p.signal); err != nil || !pending {
		return false
	}
	mask, err := ptrace.SigMask(t.TID)
	if err != nil {
		return false
	}
	bit := uint64(1) << (p.signal - 1)
	if mask&bit == 0 {
		return true
	}
	if p.g.LoadRegs(t) != nil {
		return false
	}
	if _, _, in := t.Regs.SyscallReturn(); in {
		return false // a call that waits with a mask of its own restores another one
	}
	k.uprobe.unmasked, k.uprobe.mask = true, mask
	return ptrace.SetSigMask(t.TID, mask&^bit) == nil
}

// takeUprobeHits resumes threads that are about to be detached until the signals of probes that
// are on their way to them have come: nothing else may receive those. A thread that is about to
// sleep in vfork(2) is left out. It would not come to its signals before its child, which is
// stopped, has run.
func (p *probes) takeUprobeHits() {
	if p.signals == nil {
		return
	}
	p.signals.Switch(false)
	for _, t := range p.g.Threads {
		for !p.g.Phase().Over() && t.M.State() == tracee.StateStopped && !t.M.Group() && t.M.Awaits() != tracee.AwaitVfork && p.uprobeHitPending(t) {
			p.g.RunOn(t)
			if !p.g.Has(t) {
				break
			}
		}
	}
}
