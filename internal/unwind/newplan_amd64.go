package unwind

// newPlan finds out how to leave p's function at p's instruction.
func (u *Unwinder) newPlan(p *place) plan {
	t := p.m.Table
	link := p.lookup() - p.m.Bias
	f, isGo := t.goFunction(link)
	var fn *function
	if !isGo { // and no reason to load .debug_frame
		fn = t.function(link)
	}
	switch {
	case fn != nil && fn.signal:
		return cfiPlan(fn, link)
	case u.atRestorer(p, fn):
		return plan{way: waySignal}
	case u.atBottom(p, fn):
		return plan{way: wayTop}
	case isGo:
		if n, ok := u.goPlan(p, link, f); ok {
			return n
		}
	}
	if fn != nil {
		return cfiPlan(fn, link)
	}
	if p.ret && u.isStart(&p.m, p.pc) {
		return plan{way: wayTop}
	}
	return plan{routes: u.newRoutes(p)}
}

// atRestorer reports whether p is in a signal trampoline. A trampoline is entered by a
// return, at its first byte, and what is in front of it is another function, or
// nothing. One that runs may be at its second instruction.
func (u *Unwinder) atRestorer(p *place, fn *function) bool {
	link := p.pc - p.m.Bias
	switch {
	case fn == nil:
		if f, ok := p.m.Table.goFunction(link); ok && link != f.start && p.ret {
			return false
		}
	case link < fn.end:
		return false
	}
	return isRestorer(u.readCode(&p.m, p.pc, len(restorer64))) ||
		!p.ret && isRestorer(u.readCode(&p.m, p.pc-7, len(restorer64)))
}

// atBottom reports whether p is where a function begins, and behind no call: the address
// that makecontext(3) and its like put on a new stack, for the stack's first function to
// return to. Nothing has called it.
func (u *Unwinder) atBottom(p *place, fn *function) bool {
	link := p.pc - p.m.Bias
	return p.ret && (fn == nil || link >= fn.end) && p.m.Table.begins(link) && !u.returns(p.pc)
}

// cfiPlan is the plan of a function with call frame information.
func cfiPlan(fn *function, link uint64) plan {
	r := fn.row(link)
	if r == nil {
		return plan{}
	}
	return plan{way: wayCFI, fn: fn, row: r}
}

// newRoutes reads the code around p for ways out.
func (u *Unwinder) newRoutes(p *place) *routes {
	start, end, ok := p.m.Table.obj.extent(p.lookup() - p.m.Bias)
	start, end = start+p.m.Bias, end+p.m.Bias
	if !ok || start < p.m.Start || end > p.m.End {
		return &routes{out: u.walkOut(&p.m, p.pc, p.m.End)}
	}
	return &routes{in: u.walkIn(&p.m, start, p.pc, end), out: u.walkOut(&p.m, p.pc, end), walked: true}
}
