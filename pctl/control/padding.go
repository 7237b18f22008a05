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
)

// findScratch finds room for copies of instructions: the bytes between the end of a
// text segment and the end of its last page, which are mapped and never run. They
// are the main program's and the run-time linker's, which are never unmapped, and of
// which one is near to whatever has breakpoints. It reports whether there is any.
func (c *Controller) findScratch() bool {
	for _, kind := range []uint64{procfs.AuxEntry, procfs.AuxBase} {
		if o, ok := c.Space().Object(c.linker.auxv[kind]); ok && o.File != nil {
			c.reservePaddingOf(o)
		}
	}
	return c.table.Scratch().Free() > 0
}

// reservePadding is findScratch, wherever the breakpoint is.
func (c *Controller) reservePadding(handle.Object) bool { return c.findScratch() }

// reservePaddingOf makes scratch slots of what follows the text of an object.
func (c *Controller) reservePaddingOf(o handle.Object) {
	for _, s := range o.File.Segments() {
		if s.Flags&elf.PF_X == 0 || s.Filesz == 0 || s.Filesz != s.Memsz {
			continue
		}
		end := o.Bias + s.Vaddr + s.Filesz
		size := (end+pageSize-1)&^(pageSize-1) - end
		if size < minPadding {
			continue
		}
		if err := c.table.Scratch().Reserve(end, min(size, mostPadding)); err != nil {
			continue // not mapped: a file that was cut short
		}
	}
}
