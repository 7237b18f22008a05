package control

import (
	"debug/elf"

	"ptools/internal/procfs"
	"ptools/pctl/bkpt"
	"ptools/pctl/handle"
)

const (
	pageSize    = 4096
	minPadding  = 2 * bkpt.SlotSize
	mostPadding = 64 * bkpt.SlotSize
	enoughSlots = 192 // no more objects are looked at when there are so many
)

// findScratch finds room for copies of instructions: the bytes between the end of a text
// segment and the end of its last page, which are mapped and never run. Only objects that
// are never unmapped are used: the main program, the run-time linker, and the libraries
// that they were started with. Any text that has breakpoints is near to one of them.
// findScratch reports whether there is any room.
func (s *stepper) findScratch() bool {
	scratch := s.c.traps.table.Scratch()
	program := s.c.image.program
	base, entry := program.Auxv()[procfs.AuxBase], program.Entry()
	for _, addr := range []uint64{entry, base} {
		if o, ok := s.c.Space().Object(addr); ok {
			s.reservePaddingOf(o)
		}
	}
	for _, l := range program.Listed() { // what is loaded later comes last
		if l.Namespace != 0 || l.Base == base || scratch.Free() >= enoughSlots {
			break
		}
		o, ok := s.c.Space().Object(l.Dynamic)
		if !ok || o.Start <= entry && entry < o.End || o.Start == program.Auxv()[procfs.AuxVDSO] {
			continue
		}
		s.reservePaddingOf(o)
	}
	return scratch.Free() > 0
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
