package control

import (
	"debug/elf"

	"ptools/internal/procfs"
	"ptools/internal/rtld"
	"ptools/pctl/bkpt"
	"ptools/pctl/handle"
)

const (
	pageSize    = 4096
	minPadding  = 2 * bkpt.SlotSize
	mostPadding = 64 * bkpt.SlotSize
	enoughSlots = 192 // no more objects are looked at when there are so many
)

// findScratch finds room for copies of instructions: the bytes between the end of a
// text segment and the end of its last page, which are mapped and never run. Only
// objects that are never unmapped have it: the main program, the run-time linker, and
// the libraries that they were started with. One of them is near to whatever has
// breakpoints. It reports whether there is any room.
func (s *stepper) findScratch() bool {
	scratch := s.c.traps.table.Scratch()
	base, entry := s.c.image.linker.auxv[procfs.AuxBase], s.c.image.linker.auxv[procfs.AuxEntry]
	for _, addr := range []uint64{entry, base} {
		if o, ok := s.c.Space().Object(addr); ok {
			s.reservePaddingOf(o)
		}
	}
	// The linker's list begins with the program, then has what that needs, with the
	// linker itself among or behind it, then what was loaded later.
	for _, l := range s.startObjects() {
		if l.Namespace != 0 || l.Base == base || scratch.Free() >= enoughSlots {
			break
		}
		o, ok := s.c.Space().Object(l.Dynamic)
		if !ok || o.Start <= entry && entry < o.End || o.Start == s.c.image.linker.auxv[procfs.AuxVDSO] {
			continue
		}
		s.reservePaddingOf(o)
	}
	return scratch.Free() > 0
}

// startObjects returns the linker's list, in its order, or nil if there is none.
func (s *stepper) startObjects() []rtld.Object {
	if s.c.image.linker.list == listRead {
		return s.c.image.linker.objects
	}
	at, err := rtld.Find(s.g.Memory.Mem, s.c.image.linker.auxv, nil)
	if err != nil {
		return nil
	}
	_, objects, err := rtld.Read(s.g.Memory.Mem, at.Debug)
	if err != nil {
		return nil // it is changing
	}
	return objects
}

// reservePaddingOf makes scratch slots of what follows the text of an object.
func (s *stepper) reservePaddingOf(o handle.Object) {
	if o.File == nil {
		return
	}
	for _, seg := range o.File.Segments() {
		if seg.Flags&elf.PF_X == 0 || seg.Filesz == 0 || seg.Filesz != seg.Memsz {
			continue
		}
		end := o.Bias + seg.Vaddr + seg.Filesz
		size := (end+pageSize-1)&^(pageSize-1) - end
		if size < minPadding {
			continue
		}
		if err := s.c.traps.table.Scratch().Reserve(end, min(size, mostPadding)); err != nil {
			continue // not mapped: a file that was cut short
		}
	}
}
