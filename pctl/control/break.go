package control

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"syscall"

	"ptools/internal/elfsym"
	"ptools/internal/program"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/bkpt"
	"ptools/pctl/notify"
)

// Break is one client's breakpoint at one address.
type Break struct {
	c       *Controller
	addr    uint64
	handler Handler
	hits    atomic.Uint64
	bp      *bkpt.Breakpoint // nil when removed
	symbol  *SymbolBreak     // of which it is a place, or nil
	site    *site            // what it counts for there
	client  bool             // a client's: its hits are events
	share   *share           // what the kernel has counted for it
	missed  uncounted
	plants  *Plants // that it is of, or nil
	entry   uint64  // of the function that it counts further on (Options.CountAt); 0: it is where it was asked for
}

// Addr returns the address in the target.
func (b *Break) Addr() uint64 { return b.addr }

// Addrs returns the address, as those of SymbolBreak do.
func (b *Break) Addrs() []uint64 { return []uint64{b.addr} }

// Found reports, as that of SymbolBreak does, that there was something to set it on.
func (b *Break) Found() bool { return true }

// Hits returns how often it has been hit. Any goroutine may call.
func (b *Break) Hits() uint64 { return b.hits.Load() + b.share.count() }

// Break sets a breakpoint at an address. A nil handler only counts. If nothing subscribes
// to hits either, the kernel counts if it can, and no thread is stopped. An address in a
// restartable sequence is refused (ErrRestartable), and one inside an instruction (ErrMidInstruction). In the middle of an exec Break waits
// for the new program. Called by a handler it fails then, because the handler has its address
// from the program before. It may be called from any goroutine and from handlers.
func (c *Controller) Break(ctx context.Context, addr uint64, h Handler) (*Break, error) {
	var b *Break
	var err error
	if e := c.either(ctx, func() {
		add := func() {
			if err = c.image.beginsAt(addr); err == nil {
				b, err = c.traps.addBreak(c.image.program, addr, h, c.traps.purposeOf(h, toCount))
			}
		}
		add()
		for c.traps.handling == 0 && (err == errReplacedProgram || err != nil && c.image.awaitImage()) {
			add()
		}
		if err == nil {
			b.client = true
		}
	}); e != nil {
		return nil, e
	}
	return b, err
}

// Remove removes the breakpoint. A thread that has hit it and was not reported yet
// continues as if it had never been there. Idempotent; may be called from handlers.
func (b *Break) Remove(ctx context.Context) error {
	return b.c.either(ctx, func() { b.c.traps.removeBreak(b) })
}

// either runs f on the control goroutine. The caller may be on it already.
func (c *Controller) either(ctx context.Context, f func()) error {
	if !c.tracees.Requests.OnControl() {
		return c.tracees.Requests.Do(ctx, f)
	}
	if c.tracees.Phase().Over() {
		return ErrEnded
	}
	f()
	return nil
}

// ErrMidInstruction is the error of a breakpoint inside an instruction.
var ErrMidInstruction = errors.New("inside an instruction")

// begins returns an error if no instruction begins at a link-time address.
func (i *image) begins(f *elfsym.File, addr uint64) error {
	if i.c.opt.Begins == nil {
		return nil
	}
	return i.c.opt.Begins(f, addr)
}

// beginsAt is begins for an address of the process. Of text that is that of no file it is not known.
func (i *image) beginsAt(addr uint64) error {
	o, ok := i.c.Space().Object(addr)
	if !ok || o.File == nil {
		return nil
	}
	return i.begins(o.File, addr-o.Bias)
}

// errReplacedProgram is the error of a breakpoint in a program that the target has
// replaced. The exec was reported while threads were being stopped for the breakpoint.
var errReplacedProgram = errors.New("the process has executed another program")

// addBreak and removeBreak run on the control goroutine. addr is an address in the program
// of. Anything may be at that address in the program after an exec.
func (x *traps) addBreak(of *program.Image, addr uint64, h Handler, p purpose) (*Break, error) {
	if x.g.Phase().Over() {
		return nil, ErrEnded
	}
	var bp *bkpt.Breakpoint
	turn := x.mappings.begin(x, p)
	if err := x.still(func() (err error) { bp, err = x.place(of, addr, p); return err }); err != nil {
		return nil, err
	}
	if of != x.c.image.program {
		return nil, errReplacedProgram
	}
	b := &Break{c: x.c, addr: addr, handler: h, bp: bp, missed: uncounted{turn: turn}}
	b.missed.set(x, bp)
	if x.probes.counts(bp) {
		b.share = newShare(x.probes.tallies[addr])
	}
	x.breaks[addr] = append(x.breaks[addr], b)
	x.g.Trace.About(x.g.PID, tracee.DeedPlant, addr, nil)
	return b, nil
}

func (x *traps) removeBreak(b *Break) {
	if b.bp == nil {
		return
	}
	b.share.end()
	b.tellUncounted()
	x.stillAtLast(func() {
		if b.bp != nil { // else an exec has made away with it meanwhile
			x.table.Remove(b.bp)
		}
	})
	x.g.Trace.About(x.g.PID, tracee.DeedLift, b.addr, nil)
	b.bp = nil
	left := slices.DeleteFunc(slices.Clone(x.breaks[b.addr]), func(x *Break) bool { return x == b })
	if len(left) == 0 {
		delete(x.breaks, b.addr)
	} else {
		x.breaks[b.addr] = left
	}
}

// arm and disarm plant and lift all traps. A second call does nothing.
func (x *traps) arm() {
	if !x.table.Armed() {
		x.hideLeaving()
		x.g.Trace.About(x.g.PID, tracee.DeedArm, 0, nil)
		x.table.Arm()
		x.tellEnded()
	}
}

// disarm is called when every thread is stopped, or runs no user code and will stop before
// it does. Each has been seen off its trap and its scratch slot. So the traps that were
// lifted recently can be forgotten, unless a thread cannot stop now: it may be in fork(2).
func (x *traps) disarm() {
	if x.table.Armed() {
		x.hideLeaving()
		x.g.Trace.About(x.g.PID, tracee.DeedDisarm, 0, nil)
		x.table.Disarm()
		x.tellEnded()
	}
	x.table.Settle(!x.g.Stopper.Parks())
}

// forgetBreaks drops every breakpoint without writing anything, and returns what forked processes may still have.
func (x *traps) forgetBreaks() (former *bkpt.Table) {
	for _, bs := range x.breaks {
		for _, b := range bs {
			b.bp = nil
		}
	}
	clear(x.breaks)
	x.stepper.reserved = false
	return x.table.Forget()
}

// trapped handles a SIGTRAP. It returns true if the SIGTRAP is ours, or of a breakpoint
// that was forgotten since. Then the thread gets no signal.
func (x *traps) trapped(t *tracee.Thread) bool {
	k := trapsOf(t)
	if x.g.LoadRegs(t) != nil {
		return false
	}
	if t.M.Position() == tracee.PosTrapDue { // the end of a step of ours
		x.stepper.putAt(t, k.at)
		if k.cut {
			k.cut = false
			x.stepper.callAgain(t)
		}
		return true
	}
	back := t.M.Position() == tracee.PosSetBack
	b, addr, ok := x.trapOf(t)
	if !ok && back {
		return true // of a breakpoint that was forgotten since, with its program
	}
	if !ok || !back && !x.executedTrap(t, b) {
		return false
	}
	t.Regs.SetPC(addr)
	t.Known = tracee.RegsChanged
	x.g.TakeSignal(t)
	x.g.Alert.Hit = t.TID
	x.g.Spin.Earn()
	if x.c.opt.Mode != ModeKill {
		// A handler may take long. If we are killed meanwhile, the thread continues from
		// here, without the signal.
		x.g.FlushRegs(t)
		x.g.Reports.Read()
	}
	switch {
	case b == nil || t.M.Holds() > 0:
		x.stepper.putAt(t, nil) // lifted since, or about to be: the thread goes back in front of it
	case t.Role != tracee.RoleThread || k.unmark(addr, t.Regs.SP()):
		x.stepper.putAt(t, b)
	default:
		x.stepper.putAt(t, b)
		x.hit(t, b)
		x.g.StayAlert()
		return !x.ownTrap(t, b)
	}
	return true
}

// trapOf returns the breakpoint that a thread may have hit, and its address.
func (x *traps) trapOf(t *tracee.Thread) (b *bkpt.Breakpoint, addr uint64, ok bool) {
	if t.M.Position() == tracee.PosSetBack {
		b, ok = x.table.TrapAt(t.Regs.PC())
		return b, t.Regs.PC(), ok
	}
	if b, addr, ok = x.table.Trapped(t.Regs.PC()); !ok && x.moved(t, addr) {
		b, ok = x.table.TrapAt(addr)
	}
	return b, addr, ok
}

// ownTrap gives a thread the SIGTRAP of a trap of the program's own on which a breakpoint
// was set, as if the thread had executed that trap. It reports whether it has done so.
func (x *traps) ownTrap(t *tracee.Thread, b *bkpt.Breakpoint) bool {
	if trapsOf(t).at == nil || !b.Plan().IsTrap() || b.Plan().Len() != 1 || t.Regs.PC() != b.Addr {
		return false
	}
	x.stepper.putAt(t, nil)
	t.Regs.SetPC(b.Addr + 1)
	t.Known = tracee.RegsChanged
	if !t.M.Give(syscall.SIGTRAP) {
		x.g.Refused(t, tracee.DeedGive)
		return false
	}
	x.g.Trace.Did(t, tracee.DeedGive, uint64(syscall.SIGTRAP), nil)
	return true
}

// executedTrap reports whether a thread has executed our trap. Otherwise a SIGTRAP was sent
// to a thread that happens to be stopped behind one.
func (x *traps) executedTrap(t *tracee.Thread, b *bkpt.Breakpoint) bool {
	code := b.TrapCode()
	if code == 0 {
		return true
	}
	var si ptrace.SigInfo
	return ptrace.GetSigInfo(t.TID, &si) == nil && si.Code == code
}

// hit reports a hit to the owners of the breakpoint.
func (x *traps) hit(t *tracee.Thread, bp *bkpt.Breakpoint) {
	x.g.Alert.Thread.Off()
	bp.Hits++
	x.handling++
	for _, b := range x.breaks[bp.Addr] {
		if b.bp == nil {
			continue // removed by an earlier handler
		}
		b.hits.Add(1)
		var attached any
		if b.handler != nil {
			h := &Hit{c: x.c, t: t, b: b}
			b.handler(h)
			attached = h.attached
		}
		if b.client && x.c.bus.Wants(notify.Hit) {
			x.publishHit(t, b, attached)
		}
	}
	x.handling--
	if k := trapsOf(t); k.uprobe.state == uprobeShown {
		k.uprobe.state = uprobeBehind
	}
	if x.c.rendezvous.wantHold {
		x.c.rendezvous.here = append(x.c.rendezvous.here, notify.PointHit)
	}
	if x.c.rendezvous.wantHold || x.c.rendezvous.wantPoint {
		x.c.rendezvous.wantHold, x.c.rendezvous.wantPoint = false, false
		x.c.rendezvous.nextPoint()
	}
}
