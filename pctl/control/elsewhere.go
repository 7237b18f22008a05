package control

import (
	"errors"
	"slices"

	"ptools/internal/procfs"
	"ptools/internal/tracee"
	"ptools/pctl/bkpt"
	"ptools/pctl/notify"
)

// ErrMappedAgain: the program has mapped the text of a breakpoint again since it was set, and there is no int3 in that mapping.
// Uprobes have such hits.
var ErrMappedAgain = errors.New("the program has mapped this text again, without the int3: hits there were not counted")

// A process may have a file mapped several times: the run-time linker does it for another namespace (dlmopen, LD_AUDIT), and a
// program may map its own text again, or move it (mremap). The kernel plants the trap of a uprobe in all these
// mappings, also in later ones. So a probe that stops threads is one for all breakpoints at its place in the file, and so
// is one that counts for a symbol. An int3 stands in one mapping, and goes with its text.

// hideElsewhere hides the traps that the kernel has planted for our probes where their files are mapped a second time.
func (x *traps) hideElsewhere(text []byte, addr uint64) {
	p := &x.probes
	p.placed = staying(p.placed)
	for end := addr + uint64(len(text)); len(p.placed) > 0 && addr < end; {
		m, ok, err := x.ground.at(addr)
		if err != nil || !ok {
			return
		}
		for _, l := range p.placed {
			if at, ok := l.in(m); ok && at >= addr && at < end && bkpt.HasTrap(text[at-addr:][:1]) {
				text[at-addr] = l.orig
			}
		}
		text = text[min(m.End, end)-addr:]
		addr = m.End
	}
}

// wantedAt returns the probe of a breakpoint whose place in its file is mapped at addr, or nil. The breakpoint may be where
// that file is mapped a second time.
func (x *traps) wantedAt(addr uint64) bkpt.Probe {
	if x.probes.lasting() == 0 {
		return nil
	}
	m, ok, err := x.ground.at(addr)
	if err != nil || !ok {
		return nil
	}
	for _, u := range x.probes.kinds() {
		if found := u.Find(func(probe bkpt.Probe) bool {
			at, ok := probe.(placed).in(m)
			return ok && at == addr
		}); found != nil {
			return found
		}
	}
	return nil
}

// foundAt sets the breakpoints by symbol that a thread has come to at an address where they are not known to be: the program has
// mapped their text a second time, or moved it.
func (x *traps) foundAt(addr uint64) *bkpt.Breakpoint {
	probe := x.wantedAt(addr)
	if probe == nil {
		return nil
	}
	x.setAlsoAt(addr, func(place uint64) bool { return x.probes.stop.At(place) == probe })
	return x.table.At(addr)
}

// moved reports whether a thread has executed an int3 of ours at an address that the program has moved its text to. The
// breakpoints by symbol move along.
func (x *traps) moved(t *tracee.Thread, addr uint64) bool {
	if !x.executedTrap(t, nil) {
		return false
	}
	b, from := x.table.Adopt(addr)
	if b == nil {
		return false
	}
	x.setAlsoAt(addr, func(place uint64) bool { return place == from })
	x.stillAtLast(func() { x.table.Remove(b) })
	return true
}

// setAlsoAt sets the breakpoints by symbol that have certain places at addr as well.
func (x *traps) setAlsoAt(addr uint64, has func(place uint64) bool) {
	of := x.c.image.program
	for _, s := range slices.Clone(x.c.image.symbolic) {
		if i := slices.IndexFunc(s.places, func(b *Break) bool { return has(b.addr) }); i >= 0 {
			s.place(of, s.places[i].site, addr-s.places[i].site.off, addr)
			s.tell()
		}
	}
}

// tellUnwatched notifies the clients of the mappings in which the int3s of breakpoints by symbol do not stand, because the
// program has made them since. The process is about to be let go: earlier nothing says that they are there.
func (x *traps) tellUnwatched() {
	var maps []procfs.Map
	for _, s := range x.c.image.symbolic {
		for _, b := range s.places {
			if b.bp == nil || b.bp.After() {
				continue
			}
			if maps == nil {
				maps, _ = procfs.Maps(x.g.PID) // without them it has ended
			}
			for _, addr := range mappedAlso(maps, b.addr) {
				if !slices.ContainsFunc(s.places, func(b *Break) bool { return b.addr == addr && x.stands(b) }) {
					s.missed.known = append(s.missed.known, addr)
					e := notify.Event{Kind: notify.BreakRefused, Addr: addr, Err: ErrMappedAgain}
					e.Symbol, e.Offset = b.label()
					x.c.publish(e)
				}
			}
		}
	}
}

// stands reports whether the int3 of a breakpoint is in the text.
func (x *traps) stands(b *Break) bool {
	var text [1]byte
	if b.bp == nil || !b.bp.Armed() {
		return b.bp != nil // the text has none now
	}
	n, _ := x.g.Memory.Mem.ReadAt(text[:], int64(b.addr)) // unreadable: nothing is executed there either
	return n == 0 || bkpt.HasTrap(text[:])
}

// mappedAlso returns the other addresses at which the text at addr is mapped from its file.
func mappedAlso(maps []procfs.Map, addr uint64) (also []uint64) {
	i := slices.IndexFunc(maps, func(m procfs.Map) bool { return m.Start <= addr && addr < m.End })
	if i < 0 || maps[i].Inode == 0 {
		return nil
	}
	of := maps[i]
	at := of.Off + addr - of.Start
	for _, m := range maps {
		if m.Inode == of.Inode && m.Major == of.Major && m.Minor == of.Minor && m.Perm&procfs.Exec != 0 &&
			m.Off <= at && at-m.Off < m.End-m.Start && m.Start != of.Start {
			also = append(also, m.Start+at-m.Off)
		}
	}
	return also
}
