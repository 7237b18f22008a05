package control

import (
	"ptools/internal/perfevent"
	"ptools/internal/ptrace"
	"ptools/pctl/bkpt"
)

// uprobeHit is what is known of a thread and the probe it has run through.
type uprobeHit struct {
	taken  uint64 // arrivals that have been dealt with
	state  uprobeState
	hit    perfevent.Hit // the last one, with the registers from before the instruction
	missed uint64        // arrivals before it that did not stop the thread

	addr  uint64      // of the instruction
	after ptrace.Regs // what the thread has really

	unmasked bool // mask has to be put back
	mask     uint64
}

// uprobeState says what is to be done about a thread's last hit of a probe.
type uprobeState uint8

const (
	uprobeDone   uprobeState = iota
	uprobeDue                // it has still to be reported
	uprobeBehind             // the registers are those from before the instruction, which has run
)

// probed handles a signal that may be that of a probe. It reports true if it was.
func (p *probes) probed(t *thread) bool {
	if p.signals == nil || t.m.signal != p.signal || !p.newUprobeHit(t) {
		return false
	}
	if t.uprobe.unmasked {
		t.uprobe.unmasked = false
		ptrace.SetSigMask(t.tid, t.uprobe.mask)
	}
	var si ptrace.SigInfo
	if ptrace.GetSigInfo(t.tid, &si) != nil || si.Code == ptrace.SIKernel {
		p.g.takeSignal(t)
		p.g.reports.read() // nobody else gets it, whatever comes
	} // else somebody else's, which was there before and took ours in
	p.g.calls.rewind(t)
	if t.role != roleThread {
		return true
	}
	a := &t.uprobe
	a.hit, a.state, a.missed = p.hit, uprobeDue, p.hit.Count-a.taken-1
	a.taken = p.hit.Count
	p.g.spin.earn()
	return true
}

// newUprobeHit reports whether a stopped thread has reached a probe since it was last
// asked; p.hit has it.
func (p *probes) newUprobeHit(t *thread) bool {
	return p.signals.Take(t.tid, &p.hit) && p.hit.Count != t.uprobe.taken
}

// reportUprobeHit reports the hit of a thread that nobody holds. Its registers are
// shown as they were before the instruction.
func (p *probes) reportUprobeHit(t *thread) {
	a := &t.uprobe
	a.state = uprobeDone
	var before ptrace.Regs
	if p.g.loadRegs(t) != nil {
		return
	}
	before = t.regs
	before.SetSaved(&a.hit.Regs)
	b := p.c.traps.table.At(before.PC())
	if b == nil || !p.c.traps.probes.stop.Has(b) {
		return // removed since
	}
	a.addr = b.Addr
	if p.stillThere(t, b, before) {
		p.g.flushRegs(t)
		a.state, a.after, t.regs = uprobeBehind, t.regs, before
		if t.unmark(b.Addr) {
			t.regs, a.state = a.after, uprobeDone
			return // a handler has changed the registers: it has run once more
		}
	}
	p.g.latency.hit()
	p.countMissed(b, a.missed)
	p.c.traps.hit(t, b)
}

// countMissed counts hits of a thread that it was not stopped at.
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

// stillThere reports whether a thread stands where the instruction has left it. One
// that had the signal blocked is elsewhere.
func (p *probes) stillThere(t *thread, b *bkpt.Breakpoint, before ptrace.Regs) bool {
	if t.uprobe.missed > 0 {
		return false
	}
	ok, err := b.Plan().Emulate(&before.Regs, readOnly{p.g.memory.user})
	return ok && err == nil && before.PC() == t.regs.PC() && before.SP() == t.regs.SP()
}

// readOnly is memory to which nothing is written: what an instruction has stored is
// there.
type readOnly struct{ bkpt.Memory }

func (readOnly) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// leaveUprobeHit gives a thread back the registers it has really, unless a handler has
// changed what it was shown: then those count, and at the breakpoint the instruction
// is executed once more.
func (p *probes) leaveUprobeHit(t *thread) {
	t.uprobe.state = uprobeDone
	switch {
	case t.known != regsChanged:
		t.regs = t.uprobe.after
	case t.regs.PC() == t.uprobe.addr:
		if b := p.c.traps.table.At(t.uprobe.addr); b != nil && b.Armed() {
			t.mark(t.uprobe.addr)
		}
	}
}

// uprobeHitPending reports whether an interrupted thread has reached a probe and the
// signal is still to come, and can be let come without running the thread.
func (p *probes) uprobeHitPending(t *thread) bool {
	if p.signals == nil || !p.newUprobeHit(t) {
		return false
	}
	if pending, err := ptrace.Pending(t.tid, p.signal); err != nil || !pending {
		return false
	}
	mask, err := ptrace.SigMask(t.tid)
	if err != nil {
		return false
	}
	bit := uint64(1) << (p.signal - 1)
	if mask&bit == 0 {
		return true
	}
	if p.g.loadRegs(t) != nil {
		return false
	}
	if _, _, in := t.regs.SyscallReturn(); in {
		return false // a call that waits with a mask of its own has another to go back to
	}
	t.uprobe.unmasked, t.uprobe.mask = true, mask
	return ptrace.SetSigMask(t.tid, mask&^bit) == nil
}

// takeUprobeHits lets threads that are about to be let go come to the signals of probes
// that are on their way to them: nobody else must get those. One on its way into the
// sleep of vfork(2) would not come to its signals before its child, which stands still.
func (p *probes) takeUprobeHits() {
	if p.signals == nil {
		return
	}
	p.signals.Switch(false)
	for _, t := range p.g.threads {
		for !p.g.phase.over() && t.m.state == stateStopped && !t.m.group && t.m.awaits != awaitVfork && p.uprobeHitPending(t) {
			p.g.runOn(t)
			if !p.g.has(t) {
				break
			}
		}
	}
}
