package control

import (
	"errors"
	"slices"

	"ptools/internal/program"
	"ptools/pctl/bkpt"
	"ptools/pctl/notify"
)

// In a process that has uprobes the kernel takes an int3 for its own where any program has a uprobe at that place of the file, also one for
// another process only (find_active_uprobe in kernel/events/uprobes.c; TestInt3Swallowed). The int3 stops no thread then, and nothing
// says so. Without uprobes in the process all its int3s are the tracer's (MMF_HAS_UPROBES). So a process whose breakpoints would be
// int3s, because it is to be killed with us, has none any more when it gets its first uprobe, for a breakpoint that counts.

// hasProbes reports whether a process may have uprobes of ours.
func hasProbes(p *probes) bool {
	p.placed, p.parents = staying(p.placed), staying(p.parents)
	return len(p.placed)+len(p.parents) > 0
}

// int3s returns the breakpoints that are int3s.
func int3s(x *traps) []*bkpt.Breakpoint { return x.table.Of(x.table.Default()) }

// toProbes makes the int3s of a program uprobes, as far as they can be, before its process gets a uprobe. An exec may be handled meanwhile.
func toProbes(x *traps, of *program.Image) {
	if x.c.opt.Trap != TrapAuto || of.Is32Bit() || hasProbes(&x.probes) || len(int3s(x)) == 0 || x.probes.openProbes() != nil {
		return
	}
	if x.table.Armed() {
		x.g.Stopper.StopAtOnce()
		defer x.g.Stopper.ResumeAll()
	}
	if of != x.c.image.program {
		return
	}
	for _, b := range int3s(x) {
		if x.g.Phase().Over() {
			return
		}
		_ = x.table.Change(b, x.probes.stop) // else it stays an int3
	}
}

// ErrLate: a thread blocked the signals of uprobes when it loaded the object.
var ErrLate = errors.New("the thread that loaded the object blocked SIGWINCH and SIGURG: hits before it let them through were not counted")

// tellLate notifies the clients of breakpoints that have been set in objects which came some time ago: the thread that loaded them was not
// stopped then. before has the places of the breakpoints by symbol until now.
func (i *image) tellLate(before map[*Break]bool) {
	for _, s := range i.symbolic {
		if n := slices.IndexFunc(s.places, func(b *Break) bool { return !before[b] }); n >= 0 {
			b := s.places[n]
			e := notify.Event{Kind: notify.BreakRefused, Addr: b.addr, Symbol: s.of.Symbol, Offset: s.of.Offset, Err: ErrLate}
			if o, ok := i.c.Space().Object(b.addr); ok {
				e.Object = o.Name
			}
			i.c.publish(e)
		}
	}
}

// places returns the present places of the breakpoints by symbol.
func (i *image) places() map[*Break]bool {
	all := map[*Break]bool{}
	for _, s := range i.symbolic {
		for _, b := range s.places {
			all[b] = true
		}
	}
	return all
}
