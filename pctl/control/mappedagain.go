package control

import (
	"errors"
	"fmt"
	"slices"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/pctl/bkpt"
	"ptools/pctl/notify"
)

// ErrMappedUnprobed: the program has mapped the text of a breakpoint, which is a uprobe, in a way that gets no uprobes.
var ErrMappedUnprobed = errors.New("the program has mapped this text MAP_SHARED, or so that it can be written: the kernel plants no uprobe there, and hits there were not counted")

// errMappingsLost: what a program has mapped is not known.
var errMappingsLost = errors.New("not all that the program has mapped could be seen: if it has mapped this text again, hits there may be missing")

// mappings notices what a program maps. Nothing else says that the text of a breakpoint is mapped where the kernel plants no
// uprobe. The kernel's records have also what is gone by the time at which somebody looks.
type mappings struct {
	watch *perfevent.Mappings // nil: not needed yet, or not to be had
	tried bool
}

// begin returns the present turn. The watch of an address space begins with the first breakpoint of a client in it. Where
// it cannot be had there are no uprobes either, and the map at the end has to do.
func (w *mappings) begin(x *traps, p purpose) uint64 {
	if p >= forUs {
		return 0
	}
	if !w.tried {
		w.tried = true
		w.watch, _ = perfevent.WatchMappings(x.g.PID)
	}
	if w.watch == nil {
		return 0
	}
	return w.watch.Turn()
}

// forget ends the watch, with the address space.
func (w *mappings) forget() {
	if w.watch != nil {
		w.watch.Close()
	}
	*w = mappings{}
}

// since returns what was mapped as text after a turn, and, if that is not all known, what is mapped now.
func (w *mappings) since(x *traps, turn uint64) (list []procfs.Map, lost bool) {
	if w.watch != nil {
		var seen []perfevent.Mapped
		seen, lost = w.watch.Since(turn)
		for i := range seen {
			list = append(list, seen[i].Map())
		}
	}
	if w.watch != nil && !lost || x.c.image.executing() { // the process may be standing
		return list, lost
	}
	now, _ := procfs.Maps(x.g.PID) // without them it has ended
	return append(list, now...), lost
}

// uncounted is what a breakpoint misses where its text is mapped again.
type uncounted struct {
	turn   uint64 // when it was set
	probes []place
	known  []uint64 // addresses that a client was told of
}

// set notes a place of the breakpoint.
func (u *uncounted) set(x *traps, bp *bkpt.Breakpoint) {
	m, ok, err := x.ground.at(bp.Addr)
	if err != nil || !ok || m.Inode == 0 {
		return
	}
	at := place{major: m.Major, minor: m.Minor, inode: m.Inode, off: bp.Addr - m.Start + m.Off}
	if bp.After() && !slices.Contains(u.probes, at) {
		u.probes = append(u.probes, at)
	}
}

// tell publishes that hits were missed, in one event that has the lowest address. only is the one address that the
// breakpoint is for, 0 for all.
func (u *uncounted) tell(x *traps, only uint64, e notify.Event) {
	if len(u.probes) == 0 {
		return
	}
	var missed []uint64
	list, lost := x.mappings.since(x, u.turn)
	for _, m := range list {
		for _, p := range u.probes {
			if addr, ok := p.in(m); ok && m.Unprobed() && (only == 0 || addr == only) && !slices.Contains(u.known, addr) {
				missed, u.known, e.Err = append(missed, addr), append(u.known, addr), ErrMappedUnprobed
			}
		}
	}
	e.Kind = notify.BreakRefused
	switch {
	case len(missed) > 0:
		if e.Addr = slices.Min(missed); len(missed) > 1 {
			e.Err = fmt.Errorf("%w (%d such places)", e.Err, len(missed))
		}
	case lost:
		e.Err = errMappingsLost
	default:
		return
	}
	x.c.publish(e)
}

// tellUncounted notifies the clients of mappings in which breakpoints had no uprobes. It is called when the process is
// about to be let go, has ended, or has executed another program.
func (c *Controller) tellUncounted() {
	for _, s := range c.image.symbolic {
		s.tellUncounted()
	}
	for _, bs := range c.traps.breaks {
		for _, b := range bs {
			b.tellUncounted()
		}
	}
}

// beginMissed begins to notice what the breakpoint misses in an address space.
func (s *SymbolBreak) beginMissed() {
	x := &s.c.traps
	s.missed = uncounted{turn: x.mappings.begin(x, x.purposeOf(s.handler, toCountAll))}
}

func (s *SymbolBreak) tellUncounted() {
	s.missed.tell(&s.c.traps, 0, notify.Event{Symbol: s.of.Symbol, Offset: s.of.Offset})
	s.missed.probes = nil
}

// tellUncounted is for a breakpoint that a client has set by address.
func (b *Break) tellUncounted() {
	if b.client && b.symbol == nil {
		b.missed.tell(&b.c.traps, b.addr, notify.Event{})
	}
	b.missed.probes = nil
}
