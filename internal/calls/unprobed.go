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
var ErrMappingsLost = errors.New("not all that was mapped could be seen: calls in what is mapped MAP_SHARED, or so that it can be written, are not counted")

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
	list, lost := slices.Clone(u.before), false
	if now, err := procfs.Maps(w.PID); err == nil && w.image.Current() {
		list = append(list, now...)
	}
	if u.watch != nil {
		var seen []perfevent.Mapped
		seen, lost = u.watch.Since(0)
		for i := range seen {
			list = append(list, seen[i].Map())
		}
	}
	for i := range w.texts {
		for _, m := range list {
			if m.Unprobed() && w.texts[i].in(&m) {
				u.why = fmt.Errorf("%s %w", w.texts[i].name, ErrUnprobed)
				return
			}
		}
	}
	if lost {
		u.why = ErrMappingsLost
	}
}

func (u *unprobed) close() {
	if u.watch != nil {
		u.watch.Close()
		u.watch = nil
	}
}

// in reports whether a mapping has a place of a probe.
func (p *probedText) in(m *procfs.Map) bool {
	if p.mapped.Inode == 0 { // it was not mapped when it was probed
		if m.Path != p.name {
			return false
		}
	} else if m.Inode != p.mapped.Inode || m.Major != p.mapped.Major || m.Minor != p.mapped.Minor {
		return false
	}
	has := func(c perfevent.CallPlace) bool { return c.Off >= m.Off && c.Off-m.Off < m.End-m.Start }
	return slices.ContainsFunc(p.entries, has) || slices.ContainsFunc(p.ends, has)
}

// Unprobed returns an error if calls were missed because the process had text of the functions mapped so that the kernel plants no probes in it.
// It is known after End.
func (u *unprobed) Unprobed() error { return u.why }
