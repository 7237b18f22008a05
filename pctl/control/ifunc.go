package control

import (
	"encoding/binary"
	"slices"

	"ptools/internal/elfsym"
	"ptools/internal/rtld"
	"ptools/pctl/handle"
)

// An indirect function (STT_GNU_IFUNC) is called at the address that a function of
// its name, the resolver, has returned to what bound the caller: the run-time
// linker, or the start code of a static program. Two things together find every
// implementation that is called, and execute nothing in the target: the slots that
// have been filled already tell it, and a breakpoint at the resolver tells what will
// be filled in from now on.

// resolver is a resolver that a breakpoint by symbol follows.
type resolver struct {
	s       *SymbolBreak
	entry   *Break
	returns []*resolverReturn
}

// resolverReturn is where a thread that called the resolver gets its result.
type resolverReturn struct {
	*Break
	tid int
	sp  uint64 // at the return
}

// followResolver sets s at the implementations of an indirect function of o.
func (s *SymbolBreak) followResolver(o handle.Object, sym elfsym.Sym) {
	addr := o.Bias + sym.Addr
	if slices.ContainsFunc(s.resolvers, func(r *resolver) bool { return r.entry.addr == addr }) {
		return
	}
	r := &resolver{s: s}
	b, err := s.c.traps.addBreak(addr, r.called, forUs)
	if err != nil {
		s.refuse(addr, err)
		return
	}
	s.found.Store(true)
	r.entry = b
	s.resolvers = append(s.resolvers, r)
	for _, addr := range s.c.image.implementations(o, sym) {
		s.place(addr)
	}
}

// called is the handler at the resolver: the result will be where it returns to.
func (r *resolver) called(h *Hit) {
	var word [8]byte
	sp := h.Regs().SP()
	if _, err := h.ReadAt(word[:], int64(sp)); err != nil {
		return
	}
	ret := &resolverReturn{tid: h.TID(), sp: sp + uint64(len(word))}
	to := binary.LittleEndian.Uint64(word[:])
	b, err := r.s.c.traps.addBreak(to, func(h *Hit) { r.returned(ret, h) }, forUs)
	if err != nil {
		r.s.refuse(to, err)
		return
	}
	ret.Break = b
	r.returns = append(r.returns, ret)
}

// returned is the handler where the resolver returns to.
func (r *resolver) returned(ret *resolverReturn, h *Hit) {
	if h.TID() != ret.tid || h.Regs().SP() != ret.sp {
		return // another thread, another call
	}
	r.s.c.traps.removeBreak(ret.Break)
	r.returns = slices.DeleteFunc(r.returns, func(x *resolverReturn) bool { return x == ret })
	if addr := h.Regs().Result(); r.s.c.image.isText(addr) {
		r.s.place(addr)
		r.s.tell()
	}
}

// drop stops following a resolver in [start, end).
func (r *resolver) drop(start, end uint64) bool {
	if r.entry.addr < start || r.entry.addr >= end {
		return false
	}
	r.s.c.traps.removeBreak(r.entry)
	for _, ret := range r.returns {
		r.s.c.traps.removeBreak(ret.Break)
	}
	r.returns = nil
	return true
}

// implementations returns the functions that callers of an indirect function of o
// have been bound to.
func (i *image) implementations(o handle.Object, sym elfsym.Sym) []uint64 {
	var found []uint64
	for _, caller := range i.c.Space().Objects() {
		if caller.File == nil {
			continue
		}
		for slot := range i.linker.slots.of(caller.File) {
			byName := slot.Name != "" && slot.Name == sym.Raw
			if !byName && (slot.Resolver != sym.Addr || caller.Start != o.Start) {
				continue
			}
			addr, err := i.g.Memory.Word(caller.Bias + slot.Addr)
			if err == nil && addr != o.Bias+sym.Addr && i.implements(o, addr) && !slices.Contains(found, addr) {
				found = append(found, addr)
			}
		}
	}
	return found
}

// implements reports whether the content of a slot is a function of o, and not a stub
// that has still to be bound.
func (i *image) implements(o handle.Object, addr uint64) bool {
	if addr < o.Start || addr >= o.End || !i.isText(addr) {
		return false
	}
	sym, ok := o.File.Symbol(addr - o.Bias)
	return !ok || sym.Kind != elfsym.PLT
}

func (i *image) isText(addr uint64) bool {
	_, ok := i.c.Space().Find(addr)
	return ok
}

// slotCache has the function slots of files, as far as they were asked for.
type slotCache map[*elfsym.File][]rtld.Slot

// maxSlotFiles bounds the files that are remembered.
const maxSlotFiles = 64

// of returns the slots of a file, those bound when they are first called included.
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
