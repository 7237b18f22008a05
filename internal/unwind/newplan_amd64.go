package unwind

import "ptools/internal/elfsym"

// newPlan finds out how to leave p's function at p's instruction.
func (l *planner) newPlan(p *place) plan {
	t := p.m.Table
	link := p.lookup() - p.m.Bias
	f, isGo := t.goFunction(link)
	var fn *function
	if !isGo { // a Go function is no reason to load .debug_frame
		fn = t.function(link)
	}
	n := l.wayOut(p, link, fn, f, isGo)
	start := link // of its function
	switch {
	case isGo:
		start = f.Entry
	case fn != nil:
		start = fn.start
	}
	switch {
	case n.way == waySignal, fn != nil && fn.signal && l.isTrampoline(p):
		n.site = inTrampoline
	case !p.ret && link-start <= uint64(maxRestorer) && l.isBehindTrampoline(p):
		n.site = behindTrampoline
	case p.ret && !isGo && (fn == nil || p.pc-p.m.Bias >= fn.end) && !l.returns(p.pc): // Go's only one is behind goexit's first byte
		n.site = entered
	}
	return n
}

// wayOut finds out how to leave a function: fn with call frame information, or f of Go. link is the link-time
// address to look up.
func (l *planner) wayOut(p *place, link uint64, fn *function, f elfsym.GoFunc, isGo bool) plan {
	switch {
	case fn != nil && fn.signal:
		return cfiPlan(fn, link)
	case l.atRestorer(p, fn):
		return plan{way: waySignal}
	case l.atBottom(p, fn):
		return plan{way: wayTop}
	case isGo:
		if n, ok := l.goPlan(p, link, f); ok {
			return n
		}
	}
	if fn != nil {
		return cfiPlan(fn, link)
	}
	if p.ret && l.isStart(&p.m, p.pc) {
		return plan{way: wayTop}
	}
	return plan{routes: l.newRoutes(p)}
}

// atRestorer reports whether p is in a signal trampoline. A trampoline is entered by a
// return, at its first byte; in front of it is another function, or nothing. A running
// one may be at its second instruction.
func (l *planner) atRestorer(p *place, fn *function) bool {
	link := p.pc - p.m.Bias
	switch {
	case fn == nil:
		if f, ok := p.m.Table.goFunction(link); ok && link != f.Entry && p.ret {
			return false
		}
	case link < fn.end && link-fn.start >= uint64(maxRestorer):
		return false // it makes the call itself; a trampoline may have tables that do not say what it is
	}
	return l.isTrampoline(p)
}

// isTrampoline reports whether p is at the first instruction of a signal trampoline, or runs its second.
func (l *planner) isTrampoline(p *place) bool {
	return l.restorer(&p.m, p.pc) != 0 || !p.ret && (l.restorer(&p.m, p.pc-7) == 9 || l.restorer(&p.m, p.pc-5) == 7)
}

// isBehindTrampoline reports whether p is behind the last instruction of a signal trampoline.
func (l *planner) isBehindTrampoline(p *place) bool {
	return l.restorer(&p.m, p.pc-9) == 9 || l.restorer(&p.m, p.pc-7) == 7
}

// restorer returns the length of the signal trampoline at an address, or 0.
func (l *planner) restorer(m *Mapping, addr uint64) int {
	return restorerLength(l.readCode(m, addr, maxRestorer))
}

// atBottom reports whether p is at the start of a function, and not behind a call. That
// is the address that makecontext(3) and the like put on a new stack, for the stack's
// first function to return to. Nothing has called it.
func (l *planner) atBottom(p *place, fn *function) bool {
	link := p.pc - p.m.Bias
	return p.ret && (fn == nil || link >= fn.end) && p.m.Table.begins(link) && !l.returns(p.pc)
}

// cfiPlan returns the plan of a function with call frame information.
func cfiPlan(fn *function, link uint64) plan {
	r := fn.row(link)
	if r == nil {
		return plan{}
	}
	return plan{way: wayCFI, fn: fn, row: r}
}

// newRoutes reads the code around p for ways out.
func (l *planner) newRoutes(p *place) *routes {
	start, end, ok := p.m.Table.obj.extent(p.lookup() - p.m.Bias)
	start, end = start+p.m.Bias, end+p.m.Bias
	if !ok || start < p.m.Start || end > p.m.End {
		return &routes{out: l.walkOut(&p.m, p.pc, p.m.End), ends: p.ret && l.endsAt(p)}
	}
	r := &routes{in: l.walkIn(&p.m, start, p.pc, end), walked: true}
	r.bare = !r.in.ok && l.walker.bare
	r.out = l.walkOut(&p.m, p.pc, end)
	return r
}
