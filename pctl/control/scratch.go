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
func (c *Controller) findScratch() bool {
	scratch := c.table.Scratch()
	base, entry := c.linker.auxv[procfs.AuxBase], c.linker.auxv[procfs.AuxEntry]
	for _, addr := range []uint64{entry, base} {
		if o, ok := c.Space().Object(addr); ok {
			c.reservePaddingOf(o)
		}
	}
	// The linker's list begins with the program, then has what that needs, with the
	// linker itself among or behind it, then what was loaded later.
	for _, l := range c.startObjects() {
		if l.Namespace != 0 || l.Base == base || scratch.Free() >= enoughSlots {
			break
		}
		o, ok := c.Space().Object(l.Dynamic)
		if !ok || o.Start <= entry && entry < o.End || o.Start == c.linker.auxv[procfs.AuxVDSO] {
			continue
		}
		c.reservePaddingOf(o)
	}
	return scratch.Free() > 0
}

// startObjects returns the linker's list, in its order, or nil if there is none.
func (c *Controller) startObjects() []rtld.Object {
	if c.linker.known {
		return c.linker.objects
	}
	at, err := rtld.Find(c.mem, c.linker.auxv, nil)
	if err != nil {
		return nil
	}
	_, objects, err := rtld.Read(c.mem, at.Debug)
	if err != nil {
		return nil // it is changing
	}
	return objects
}

// reservePaddingOf makes scratch slots of what follows the text of an object.
func (c *Controller) reservePaddingOf(o handle.Object) {
	if o.File == nil {
		return
	}
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
