package handle

import (
	"debug/elf"
	"sync"

	"ptools/internal/elfsym"
	"ptools/internal/mem"
	"ptools/internal/procfs"
	"ptools/internal/unwind"
)

// Programs move their text into anonymous memory, or that of another file, to have it in huge pages. The run-time linker
// and the tables of the file do not notice. A region of such memory belongs to the object in whose address range it is,
// if a segment of code belongs there by the program headers, and if the bytes are those of the file: the text may have
// been unmapped, and other code may have been made there.

// moved is what is known of a region that replaces text of its object's file.
type moved struct {
	mu   sync.Mutex
	same map[uint64]bool // by the number of a chunk: it has the bytes of the file
}

// chunk is how many bytes are compared at once.
const chunk = 256

// isMoved reports whether memory of something else replaces a part of the object's file.
func (r *region) isMoved() bool { return r.object != nil && fileIDOf(&r.Map) != r.object.id }

// text returns the segment of the object's code that belongs to a moved region, and the object's bias.
func (l *loaded) text(r *region) (seg *elfsym.Segment, base uint64, ok bool) {
	if l.file == nil {
		return nil, 0, false
	}
	base, ok = r.object.bias(l)
	if !ok {
		return nil, 0, false
	}
	segments := l.file.Segments()
	for i := range segments {
		s := &segments[i]
		if s.Flags&elf.PF_X != 0 && r.Start < base+s.Vaddr+s.Memsz && base+s.Vaddr < r.End {
			return s, base, true
		}
	}
	return nil, 0, false
}

// holds reports whether a moved region has, around an address, the code of its object.
func (s *Space) holds(r *region, l *loaded, addr uint64) bool {
	seg, base, ok := l.text(r)
	if link := addr - base; !ok || link < seg.Vaddr || link-seg.Vaddr >= seg.Filesz {
		return false
	}
	r.moved.mu.Lock()
	defer r.moved.mu.Unlock()
	n := addr / chunk
	same, known := r.moved.same[n]
	if !known {
		m, err := s.memory()
		if err != nil {
			return false
		}
		if same, known = sameCode(m, l.file, base, max(n*chunk, base+seg.Vaddr)); !known {
			return false // for now: the memory may be readable another time
		}
		if r.moved.same == nil {
			r.moved.same = make(map[uint64]bool)
		}
		r.moved.same[n] = same
	}
	return same
}

// sameCode reports whether a chunk of memory has the bytes of the file at that place. It is not ok if the file has none
// there, or the memory could not be read. Breakpoints, and other patches of a few bytes, make no difference.
func sameCode(m *mem.Patient, f *elfsym.File, base, addr uint64) (same, ok bool) {
	var want, got [chunk]byte
	n := chunk
	for ; n > 0 && !f.ReadAddr(want[:n], addr-base); n /= 2 { // the segment ends
	}
	if _, err := m.ReadAt(got[:n], int64(addr)); err != nil || n == 0 {
		return false, false
	}
	differ := 0
	for i, b := range got[:n] {
		if b != want[i] {
			differ++
		}
	}
	return differ <= n/8, true
}

// SameText reports whether memory of a process that replaces a mapping of the file has its code.
func (f *Mapped) SameText(pid int, m *procfs.Map) bool {
	if f.file == nil {
		return false
	}
	base, ok := bias(f.file.Segments(), m)
	if !ok {
		return false
	}
	memory, err := mem.OpenPatient(pid)
	if err != nil {
		return false
	}
	defer memory.Close()
	const chunks = 16
	found := false
	for i := range uint64(chunks) {
		addr := m.Start + (m.End-m.Start)/chunks*i
		same, ok := sameCode(memory, f.file, base, addr&^(chunk-1))
		if ok && !same {
			return false
		}
		found = found || ok
	}
	return found
}

// foundMoved is the result of Find in a moved region.
func (s *Space) foundMoved(r *region, pc uint64) unwind.Mapping {
	m := unwind.Mapping{Start: r.Start, End: r.End, Special: unwind.Anonymous}
	if l, _ := s.load(r.object); s.holds(r, l, pc) {
		m.Special = unwind.None
		m.Bias, _ = r.object.bias(l)
		m.Table = l.table
		return m
	}
	s.jit.hold(s.source)
	return m
}
