package control

import (
	"encoding/binary"
	"slices"

	"ptools/internal/program"
	"ptools/pctl/handle"
)

// A call of an indirect function (STT_GNU_IFUNC) goes to the address that another function
// of its name, the resolver, has returned. The caller was bound to that address by the
// run-time linker, or by the start code of a static program. Two sources together give
// every implementation that is called, and execute nothing in the target. The slots that
// have been filled already contain the implementations so far. A breakpoint at the resolver
// shows what will be filled in from now on.

// resolver is a resolver that a breakpoint by symbol follows.
type resolver struct {
	s       *SymbolBreak
	site    *site
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
func (s *SymbolBreak) followResolver(of *program.Image, o handle.Object, sym *Found) {
	addr := o.Bias + sym.Addr
	if slices.ContainsFunc(s.resolvers, func(r *resolver) bool { return r.entry.addr == addr }) {
		return
	}
	r := &resolver{s: s, site: s.siteOf(&o, sym)}
	b, err := s.c.traps.addBreak(of, addr, r.called, forUs)
	if err != nil {
		s.refuse(r.site, addr, err)
		return
	}
	s.found.Store(true)
	r.entry = b
	s.resolvers = append(s.resolvers, r)
	for _, addr := range of.Implementations(o, sym.Sym) {
		r.place(of, addr)
	}
}

// place sets the breakpoint in the implementation at addr.
func (r *resolver) place(of *program.Image, addr uint64) {
	at := addr + r.site.off
	if r.site.off != 0 {
		if err := r.s.c.image.beginsAt(at); err != nil {
			r.s.refuse(r.site, at, err)
			return
		}
	}
	r.s.place(of, r.site, addr, at)
}

// called is the handler at the resolver. It follows the thread to where the resolver
// returns, with its result.
func (r *resolver) called(h *Hit) {
	var word [8]byte
	sp := h.Regs().SP()
	if _, err := h.ReadAt(word[:], int64(sp)); err != nil {
		return
	}
	ret := &resolverReturn{tid: h.TID(), sp: sp + uint64(len(word))}
	to := binary.LittleEndian.Uint64(word[:])
	b, err := r.s.c.traps.addBreak(r.s.c.image.program, to, func(h *Hit) { r.returned(ret, h) }, forUs)
	if err != nil {
		r.s.refuse(r.site, to, err)
		r.s.tellRefused()
		return
	}
	ret.Break = b
	r.returns = append(r.returns, ret)
}

// returned is the handler where the resolver returns to.
func (r *resolver) returned(ret *resolverReturn, h *Hit) {
	if h.TID() != ret.tid || h.Regs().SP() != ret.sp {
		return // another thread, or another call
	}
	r.s.c.traps.removeBreak(ret.Break)
	r.returns = slices.DeleteFunc(r.returns, func(x *resolverReturn) bool { return x == ret })
	if of, addr := r.s.c.image.program, h.Regs().Result(); of.IsText(addr) {
		r.place(of, addr)
		r.s.tell()
		r.s.tellRefused()
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
