package handle

import (
	"bytes"

	"ptools/internal/elfsym"
	"ptools/internal/mem"
	"ptools/internal/procfs"
)

// An ancestor is a process with a list of functions that the process may have inherited code from. fork(2) copies code
// that was made before it, but the list is of the parent alone. A prefork server makes its workers so.
type ancestor struct {
	list   *jitMap
	source *source
	mem    *mem.Patient
}

const (
	maxAncestors = 8        // generations
	maxCompared  = 16 << 10 // bytes of a function's code
)

// inherited is the part of a jitMap that looks at the ancestors.
type inherited struct {
	sought    *mapState // the map for which they were sought
	ancestors []ancestor
	own       *mem.Patient    // the process's memory
	same      map[uint64]bool // of a function's start: the process has the ancestor's code
}

// lookup returns the function of an ancestor at a program counter. The process must have the same code there.
func (h *inherited) lookup(pid int, files *elfsym.Cache, state *mapState, pc uint64) (elfsym.Sym, bool) {
	if h.sought != state && len(h.ancestors) == 0 {
		h.sought = state
		h.seek(pid, files)
	}
	for i := range h.ancestors {
		a := &h.ancestors[i]
		sym, ok := a.list.lookup(a.source, nil, pc)
		if !ok {
			continue
		}
		same, known := h.same[sym.Addr]
		if !known {
			same = h.compare(a, &sym)
			h.same[sym.Addr] = same
		}
		if same {
			return sym, true
		}
	}
	return elfsym.Sym{}, false
}

// seek finds the ancestors that have a list. Of an ancestor that has ended nothing is known.
func (h *inherited) seek(pid int, files *elfsym.Cache) {
	child, err := procfs.ReadStat(pid)
	for range maxAncestors {
		if err != nil || child.PPID <= 1 {
			return
		}
		var parent procfs.Stat
		if parent, err = procfs.ReadStat(child.PPID); err != nil || parent.StartTime > child.StartTime {
			return // the number is another process's now
		}
		h.add(pid, child.PPID, files)
		child = parent
	}
}

// add adds an ancestor, if it has a list and its memory can be read.
func (h *inherited) add(pid, of int, files *elfsym.Cache) {
	src, err := newSource(of)
	if err != nil {
		return
	}
	a := ancestor{list: &jitMap{pid: of, alone: true, files: files}, source: src}
	if a.list.hold(src); a.list.file == nil {
		src.close()
		return
	}
	if a.mem, err = mem.OpenPatient(of); err == nil && h.own == nil {
		h.own, err = mem.OpenPatient(pid)
	}
	if err != nil {
		a.close()
		return
	}
	if h.same == nil {
		h.same = make(map[uint64]bool)
	}
	h.ancestors = append(h.ancestors, a)
}

// compare reports whether a function's code is the same in the process as in the ancestor.
func (h *inherited) compare(a *ancestor, sym *elfsym.Sym) bool {
	size := min(sym.Size, maxCompared)
	ours, theirs := make([]byte, size), make([]byte, size)
	_, err := h.own.ReadAt(ours, int64(sym.Addr))
	_, err2 := a.mem.ReadAt(theirs, int64(sym.Addr))
	return err == nil && err2 == nil && bytes.Equal(ours, theirs)
}

func (a *ancestor) close() {
	a.list.close()
	a.source.close()
	if a.mem != nil {
		a.mem.Close()
	}
}

func (h *inherited) close() {
	for i := range h.ancestors {
		h.ancestors[i].close()
	}
	h.ancestors = nil
	if h.own != nil {
		h.own.Close()
		h.own = nil
	}
}
