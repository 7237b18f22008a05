package control

import (
	"debug/elf"

	"ptools/pctl/bkpt"
	"ptools/pctl/handle"
)

const (
	pageSize    = 4096
	minPadding  = 2 * bkpt.SlotSize
	mostPadding = 64 * bkpt.SlotSize
)

// reservePadding makes scratch slots of what follows the text of an object on its
// last page.
func (c *Controller) reservePadding(o handle.Object) bool {
	if o.File == nil {
		return false
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
		if c.table.Scratch().Reserve(end, min(size, mostPadding)) == nil && c.table.Scratch().Free() > 0 {
			return true
		}
	}
	return false
}
