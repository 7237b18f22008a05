package control

import (
	"slices"

	"ptools/internal/procfs"
	"ptools/pctl/bkpt"
	"ptools/pctl/notify"
)

// Errors of int3s, besides ErrShared and ErrForeignTrap.
var (
	ErrSharedText = bkpt.ErrSharedText
	ErrNotText    = bkpt.ErrNotText
)

// ground looks up what is mapped in the target, from the first int3 on. Before int3s return to the text, or
// leave it, they are compared with the map: the program may have mapped something else there.
type ground struct {
	pid  int
	maps *procfs.Mappings // nil: not opened yet
}

// at returns what is mapped at addr.
func (g *ground) at(addr uint64) (procfs.Map, bool, error) {
	if g.maps == nil {
		maps, err := procfs.OpenMappings(g.pid)
		if err != nil {
			return procfs.Map{}, false, err
		}
		g.maps = maps
	}
	return g.maps.At(addr)
}

// Mapping implements bkpt.Ground.
func (g *ground) Mapping(addr uint64) (bkpt.Mapping, bool, error) {
	m, ok, err := g.at(addr)
	return bkpt.Mapping{
		Start: m.Start, End: m.End, Off: m.Off,
		File:   bkpt.File{Major: m.Major, Minor: m.Minor, Inode: m.Inode},
		Shared: m.Perm&procfs.Shared != 0, Exec: m.Perm&procfs.Exec != 0,
	}, ok, err
}

func (g *ground) close() {
	if g.maps != nil {
		g.maps.Close()
		g.maps = nil
	}
}

// tellEnded publishes and drops the breakpoints whose text is gone. If the whole address space is gone, by an
// exec or the end of the process, it publishes none: that will be reported.
func (x *traps) tellEnded() {
	ended := x.table.TakeEnded()
	if len(ended) == 0 || x.g.Memory.Mem.Stale() {
		return
	}
	for _, e := range ended {
		for _, b := range slices.Clone(x.breaks[e.Breakpoint.Addr]) {
			x.endBreak(b, e.Why)
		}
	}
}

// endBreak publishes and drops a breakpoint that gets no hits any more.
func (x *traps) endBreak(b *Break, why error) {
	if b.client {
		x.c.publish(endOf(b, why))
	}
	b.plants.end(b.addr)
	x.removeBreak(b)
	if s := b.symbol; s != nil {
		s.places = slices.DeleteFunc(s.places, func(x *Break) bool { return x == b })
		s.tell()
	}
}

// endOf returns the event of a breakpoint that has ended.
func endOf(b *Break, why error) notify.Event {
	e := notify.Event{Kind: notify.BreakEnd, Addr: b.addr, Hits: b.Hits(), Err: why}
	if b.symbol != nil {
		e.Symbol, e.Offset = b.label()
	}
	return e
}
