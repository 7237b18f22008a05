package calls

import (
	"slices"
	"strconv"
	"strings"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/rtld"
)

// loads notices that objects were loaded and unloaded between two looks at what is mapped: by those looks alone they were never there. The run-time
// linker calls a function of its own before and after each change of its list, with which debuggers stop it, and the kernel counts these calls.
type loads struct {
	counter *perfevent.Counter
	mapped  map[where]bool // at the last look
	changes uint64         // objects that had come and gone until then
}

// where is an object at an address.
type where struct {
	path  string
	start uint64
}

// watchLoads begins to count what the linker does. It returns nil where nothing is missed by a look: a pattern names its object; or
// where there is no linker, or none that the kernel can watch.
func watchLoads(w *Watch) *loads {
	if !slices.ContainsFunc(w.patterns, func(p Pattern) bool { return p.object == "" || strings.ContainsAny(p.object, "*?") }) {
		return nil
	}
	l := &loads{mapped: w.whereMapped()} // before the counting: what comes meanwhile counts as seen
	auxv, err := procfs.ReadAuxv(w.PID)
	if err != nil {
		return nil
	}
	linker, err := rtld.Find(w.memory, auxv, nil)
	if err != nil {
		return nil
	}
	of, ok := w.space.Object(linker.Break)
	if !ok || of.File == nil {
		return nil
	}
	o := object{Object: of}
	file, _, err := o.openText(w)
	if err != nil {
		return nil
	}
	defer file.Close()
	path := "/proc/self/fd/" + strconv.Itoa(int(file.Fd()))
	if l.counter, err = perfevent.OpenCounter(w.PID, w.PID, path, offset(of.File, linker.Break-of.Bias), linker.Break); err != nil {
		return nil
	}
	return l
}

func (s *Selection) whereMapped() map[where]bool {
	mapped := map[where]bool{}
	for _, o := range s.space.Mapped() {
		mapped[where{o.Path, o.Start}] = true
	}
	return mapped
}

// count returns how often the linker has called its function.
func (l *loads) count() uint64 {
	if l == nil {
		return 0
	}
	return l.counter.Count()
}

// close lifts the probe. The result is sent when that is done.
func (l *loads) close() <-chan error {
	done := make(chan error, 1)
	if l == nil {
		done <- nil
		return done
	}
	go func() { done <- l.counter.Close() }() // awaited by the receiver
	return done
}

// missed reports whether the linker has changed its list more often than objects have come and gone until now. calls is how often it had called its
// function before the present map was read: twice for each change, of one object or more. now is nil if there is no map any more.
func (l *loads) missed(calls uint64, now map[where]bool) bool {
	if l == nil {
		return false
	}
	if now == nil {
		now = l.mapped
	}
	for o := range now {
		if !l.mapped[o] {
			l.changes++
		}
	}
	for o := range l.mapped {
		if !now[o] {
			l.changes++
		}
	}
	l.mapped = now
	if changes := calls / 2; changes > l.changes {
		l.changes = changes // they are told once
		return true
	}
	return false
}
