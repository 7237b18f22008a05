package control

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"ptools/internal/program"
	"ptools/pctl/bkpt"
	"ptools/pctl/notify"
)

// Trap says how threads are made to stop at breakpoints.
type Trap uint8

const (
	// TrapAuto takes kernel uprobes where they are available and of use. They are of use for
	// breakpoints that stop no thread (a nil Handler). If the target is to live when we die,
	// they are of use for all others too. Elsewhere TrapAuto takes int3 instructions, except
	// where they would only report loaded objects: no process is put at risk for that.
	TrapAuto Trap = iota
	// TrapInt3 takes int3 instructions only. If another program places a uprobe at one later,
	// the kernel takes the int3 for its own. The int3 then stops no thread until that uprobe is
	// gone and the process has been stopped once.
	TrapInt3
	// TrapUprobe takes kernel uprobes only. Where there can be none, attaching, or setting the
	// breakpoint, fails with ErrNoUprobe. Breakpoints that we set for ourselves are int3
	// instructions where the kernel cannot probe the instruction.
	TrapUprobe
)

var trapNames = [...]string{"auto", "int3", "uprobe"}

// String returns the word for it.
func (t Trap) String() string { return trapNames[t] }

// ErrNoUprobe is the error of a breakpoint that has to be a uprobe and cannot be.
var ErrNoUprobe = errors.New("no uprobe can be had")

// ErrRestartable is the error of a breakpoint inside a restartable sequence (rseq(2)).
var ErrRestartable = errors.New("inside a restartable sequence, which each hit would abort")

// restartable reports whether an instruction is part of a restartable sequence that its object
// lists. If a thread has been off its processor in the sequence, the kernel sends it to the
// abort handler of the sequence. So a thread that tries until it succeeds would try for ever.
// And a uprobe that the kernel steps over in a copy could make the sequence lose its
// protection.
func (x *traps) restartable(addr uint64) bool {
	o, ok := x.c.Space().Object(addr)
	return ok && o.File != nil && o.File.Restartable(addr-o.Bias)
}

// purpose is what a breakpoint is for.
type purpose uint8

const (
	toStop     purpose = iota // a handler is called, or an event published
	toCount                   // single hits are not asked for
	toCountAll                // the same, wherever the text is mapped
	toTrap                    // a handler is called, at an int3
	forUs                     // control's own: the run-time linker, the rendezvous points, resolvers
	forEvents                 // the run-time linker, where it is followed for events only
)

// counts reports whether no thread has to stop.
func (p purpose) counts() bool { return p == toCount || p == toCountAll }

// purposeOf returns what a client's breakpoint is for. counting is what it is for if single hits are not asked for.
func (x *traps) purposeOf(h Handler, counting purpose) purpose {
	if h == nil && !x.c.bus.Wants(notify.Hit) {
		return counting
	}
	return toStop
}

// kindOf returns the kind of probe for a purpose.
func (p *probes) kindOf(why purpose) *bkpt.Uprobes {
	switch why {
	case toCount:
		return p.count
	case toCountAll:
		return p.total
	}
	return p.stop
}

// place adds an owner to the breakpoint at addr. A new breakpoint gets the kind of trap that
// suits it. A breakpoint that is there already keeps its kind, unless it only counts and
// threads have to stop.
func (x *traps) place(of *program.Image, addr uint64, p purpose) (*bkpt.Breakpoint, error) {
	if of != x.c.image.program {
		return nil, errReplacedProgram
	}
	if bp := x.table.At(addr); bp != nil {
		if !p.counts() || x.probes.counts(bp) && !x.probes.kindOf(p).Has(bp) { // where owners count differently control counts
			if err := x.stopAt(bp); err != nil {
				return nil, err
			}
		}
		return x.table.Add(addr)
	}
	if of.Is32Bit() {
		return nil, Err32Bit
	}
	if p < forUs && x.restartable(addr) {
		return nil, ErrRestartable
	}
	if _, ready := x.probes.ready[addr]; !ready { // else prepare has done so for all
		x.hideLeaving()
		if probe := x.wantedAt(addr); p == toCountAll && probe != nil && x.probes.stop.Uses(probe) {
			p = toStop // control counts what stops, wherever the text is mapped
		}
	}
	var refused error
	if x.probesSuit(p) {
		if toProbes(x, of); of != x.c.image.program {
			return nil, errReplacedProgram
		}
		if refused = x.probes.openProbes(); errors.Is(refused, errBlocked) && p.counts() {
			refused = nil // what counts sends no signal
		}
		if refused == nil {
			var bp *bkpt.Breakpoint
			if bp, refused = x.table.AddTrap(addr, x.probes.kindOf(p)); refused == nil {
				return bp, nil
			}
		}
	}
	if p == toTrap && x.c.opt.Trap == TrapUprobe {
		return nil, fmt.Errorf("%w: %w", ErrNoUprobe, errors.New("calls are counted at int3s here"))
	}
	if x.c.opt.Trap == TrapUprobe && p < forUs || p == forEvents && x.probesSuit(p) && x.c.opt.Mode != ModeKill {
		return nil, fmt.Errorf("%w: %w", ErrNoUprobe, refused)
	}
	if x.probes.inherited(addr, 1) || x.probes.foreignTrap(addr) {
		return nil, cmp.Or(otherPath(&x.probes, addr), ErrForeignTrap)
	}
	if x.wantedAt(addr) != nil {
		return nil, fmt.Errorf("%w: %w", ErrOwnProbe, cmp.Or(refused, errNotUprobe))
	}
	if err := x.seizeNewborn(of); err != nil {
		return nil, err
	}
	bp, err := x.table.Add(addr)
	if err == nil {
		x.killRisk.int3(refused)
	}
	return bp, err
}

// seizeNewborn makes sure, before an int3 is planted in a program, that every thread which may hit it is traced. It waits for
// that, once. The error is ErrEnded, ErrShared or errReplacedProgram.
func (x *traps) seizeNewborn(of *program.Image) error {
	err := x.g.Seizer.SeizeNewbornOnce()
	if of != x.c.image.program && !x.g.Phase().Over() {
		return errReplacedProgram
	}
	return err
}

// ErrForeignTrap is the error of a breakpoint at an address that has another tracer's trap.
var ErrForeignTrap = errors.New("the trap of another tracer stands there")

// ErrOwnProbe is the error of an int3 at an address where the kernel has the trap of another breakpoint's uprobe, in whose file it is.
// The kernel would take the int3 for its own.
var ErrOwnProbe = errors.New("the file is mapped a second time, and has a uprobe of ours there")

// ErrOtherPath is the error of a breakpoint where the trap is that of a uprobe in another file by the map, and in the same one for the
// kernel: that of an overlay, and the one below it.
var ErrOtherPath = errors.New("the file is mapped by another path too, as one of an overlay and the one below it, and has a uprobe of ours there (int3s can be set in both)")

var errNotUprobe = errors.New("an int3 is asked for here")

// probesSuit reports whether uprobes are the first choice. A target that is killed when we die
// does not need their protection, but beside uprobes of ours its int3s are not safe (swallowed.go).
func (x *traps) probesSuit(p purpose) bool {
	switch {
	case x.c.opt.Trap == TrapInt3 || p == toTrap:
		return false
	case x.c.opt.Trap == TrapAuto:
		return p.counts() || x.c.opt.Mode != ModeKill || hasProbes(&x.probes)
	}
	return true
}

// stopAt makes a breakpoint that only counts stop threads as well, and those that share its probe.
func (x *traps) stopAt(bp *bkpt.Breakpoint) error {
	if !x.probes.counts(bp) {
		return nil
	}
	err := x.probes.openProbes()
	if err == nil {
		all := []*bkpt.Breakpoint{bp}
		if x.probes.total.Has(bp) {
			all = x.probes.total.Sharing(x.table, bp)
		}
		for _, b := range all {
			err = cmp.Or(x.table.Change(b, x.probes.stop), err)
		}
	}
	if err == nil || x.c.opt.Trap == TrapUprobe {
		return err
	}
	refused := err
	if err = x.seizeNewborn(x.c.image.program); err != nil {
		return err
	}
	if err = x.table.Change(bp, x.table.Default()); err == nil {
		x.killRisk.int3(refused)
	}
	return err
}

// FollowHits makes breakpoints that only count stop threads, so that each hit is published. It
// is for a subscriber to hits that came after those breakpoints. A breakpoint that cannot be
// changed, because int3s are excluded, continues to count. Must be called on the control
// goroutine.
func (c *Controller) FollowHits() {
	for _, s := range slices.Clone(c.image.symbolic) {
		s.toEntries()
	}
	for _, bs := range c.traps.breaks {
		for _, b := range bs {
			if b.client && b.bp != nil && b.entry == 0 {
				_ = c.traps.stopAt(b.bp)
			}
		}
	}
}
