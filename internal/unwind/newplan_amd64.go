package unwind

// newPlan finds out how to leave p's function at p's instruction.
func (l *planner) newPlan(p *place) plan {
	t := p.m.Table
	link := p.lookup() - p.m.Bias
	f, isGo := t.goFunction(link)
	var fn *function
	if !isGo { // a Go function is no reason to load .debug_frame
		fn = t.function(link)
	}
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
	case link < fn.end:
		return false
	}
	return isRestorer(l.readCode(&p.m, p.pc, len(restorer64))) ||
		!p.ret && isRestorer(l.readCode(&p.m, p.pc-7, len(restorer64)))
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
		return &routes{out: l.walkOut(&p.m, p.pc, p.m.End)}
	}
	return &routes{in: l.walkIn(&p.m, start, p.pc, end), out: l.walkOut(&p.m, p.pc, end), walked: true}
}
