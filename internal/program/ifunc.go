package program

import (
	"slices"

	"ptools/internal/elfsym"
	"ptools/internal/rtld"
	"ptools/pctl/handle"
)

// Implementations returns the functions that callers of an indirect function of o (STT_GNU_IFUNC) have been bound to.
// They are in slots that the run-time linker, or the start code of a static program, has filled to bind the callers.
// What is bound later is what the function of that name, the resolver, returns then.
func (i *Image) Implementations(o handle.Object, sym elfsym.Sym) []uint64 {
	var found []uint64
	for _, caller := range i.space.Objects() {
		if caller.File == nil {
			continue
		}
		for slot := range i.slots.of(caller.File) {
			byName := slot.Name != "" && slot.Name == sym.Raw
			if !byName && (slot.Resolver != sym.Addr || caller.Start != o.Start) {
				continue
			}
			addr, err := i.word(caller.Bias + slot.Addr)
			if err == nil && addr != o.Bias+sym.Addr && i.implements(o, addr) && !slices.Contains(found, addr) {
				found = append(found, addr)
			}
		}
	}
	return found
}

// implements reports whether the content of a slot is a function of o, and not a stub that has still to be bound.
func (i *Image) implements(o handle.Object, addr uint64) bool {
	if addr < o.Start || addr >= o.End || !i.IsText(addr) {
		return false
	}
	sym, ok := o.File.Symbol(addr - o.Bias)
	return !ok || sym.Kind != elfsym.PLT
}

// slotCache has the function slots of files, as far as they were asked for.
type slotCache map[*elfsym.File][]rtld.Slot

// maxSlotFiles bounds the files that are remembered.
const maxSlotFiles = 64

// of returns the slots of a file, including those that are bound when they are first called.
func (s *slotCache) of(f *elfsym.File) func(func(rtld.Slot) bool) {
	slots, ok := (*s)[f]
	if !ok {
		_, dynsym, _ := f.Section(".dynsym")
		_, dynstr, _ := f.Section(".dynstr")
		for _, name := range []string{".rela.plt", ".rela.dyn", ".rela.iplt"} {
			_, rela, _ := f.Section(name)
			slots = slices.AppendSeq(slots, rtld.Slots(rela, dynsym, dynstr))
		}
		if *s == nil || len(*s) >= maxSlotFiles {
			*s = slotCache{}
		}
		(*s)[f] = slots
	}
	return slices.Values(slots)
}
