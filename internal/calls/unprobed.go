package calls

import (
	"errors"
	"fmt"
	"slices"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
)

// ErrUnprobed: text with functions that are counted was mapped so that the kernel plants no probes in it.
var ErrUnprobed = errors.New("is mapped MAP_SHARED, or so that it can be written, where the kernel plants no probes: calls there are not counted")

// ErrMappingsLost: what a process has mapped is not known.
var ErrMappingsLost = errors.New("not all that was mapped could be seen: calls in what is mapped MAP_SHARED, or so that it can be written, or where there are no uprobes in what was loaded again, are not counted")

// ErrUntrapped: text with functions that are counted was mapped where it has no traps. Uprobes would be there.
var ErrUntrapped = errors.New("was mapped again: threads are stopped at the addresses where it was first, and calls elsewhere, or in what was loaded again, are not counted")

// unprobed notices text that the kernel plants no probes in.
type unprobed struct {
	watch  *perfevent.Mappings // nil: it cannot be had, and the maps at the beginning and the end have to do
	before []procfs.Map        // what is mapped at the beginning
	why    error
}

// watchUnprobed begins to notice what is mapped.
func watchUnprobed(pid int) (u unprobed) {
	u.watch, _ = perfevent.WatchMappings(pid)
	u.before, _ = procfs.Maps(pid) // it has ended
	return u
}

// end looks for text with probes in what was mapped.
func (u *unprobed) end(w *Watch) {
	if u.why != nil {
		return
	}
	list, lost, fresh := slices.Clone(u.before), false, 0
	if now, err := procfs.Maps(w.PID); err == nil && w.image.Current() {
		list = append(list, now...)
	}
	fresh = len(list)
	if u.watch != nil {
		var seen []perfevent.Mapped
		seen, lost = u.watch.Since(0)
		for i := range seen {
			list = append(list, seen[i].Map())
		}
	}
	for i := range w.texts {
		for n, m := range list {
			if w.spec.Planter != nil && w.texts[i].untrapped(&m, n >= fresh) {
				u.why = fmt.Errorf("%s %w", w.texts[i].name, ErrUntrapped)
				return
			}
			if m.Unprobed() && w.texts[i].in(&m) {
				u.why = fmt.Errorf("%s %w", w.texts[i].name, ErrUnprobed)
				return
			}
		}
	}
	if lost || w.spec.Planter != nil && w.spec.Planter.Gone() {
		u.why = ErrMappingsLost
	}
}

func (u *unprobed) close() {
	if u.watch != nil {
		u.watch.Close()
		u.watch = nil
	}
}

// untrapped reports whether a mapping has a place of a trap at another address. All are, for this purpose, in a mapping that was made since.
func (p *probedText) untrapped(m *procfs.Map, since bool) bool {
	if m.Perm&procfs.Exec == 0 || !p.maps(m) {
		return false
	}
	has := func(c perfevent.CallPlace) bool {
		return c.Off >= m.Off && c.Off-m.Off < m.End-m.Start && (since || c.Addr-m.Start != c.Off-m.Off)
	}
	return slices.ContainsFunc(p.entries, has) || slices.ContainsFunc(p.ends, has)
}

// in reports whether a mapping has a place of a probe.
func (p *probedText) in(m *procfs.Map) bool {
	has := func(c perfevent.CallPlace) bool { return c.Off >= m.Off && c.Off-m.Off < m.End-m.Start }
	return p.maps(m) && (slices.ContainsFunc(p.entries, has) || slices.ContainsFunc(p.ends, has))
}

// maps reports whether a mapping is of the file.
func (p *probedText) maps(m *procfs.Map) bool {
	if p.mapped.Inode == 0 { // it was not mapped when it was probed
		return m.Path == p.name
	}
	return m.Inode == p.mapped.Inode && m.Major == p.mapped.Major && m.Minor == p.mapped.Minor
}

// Unprobed returns an error if calls were missed because the process had text of the functions mapped so that the kernel plants no probes in it.
// It is known after End.
func (u *unprobed) Unprobed() error { return u.why }
