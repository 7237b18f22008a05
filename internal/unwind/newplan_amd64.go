package unwind

// newPlan finds out how to leave p's function at p's instruction.
func (u *Unwinder) newPlan(p *place) plan {
	t := p.m.Table
	link := p.lookup() - p.m.Bias
	fn := t.function(link)
	if fn != nil && fn.signal {
		return cfiPlan(fn, link)
	}
	// A trampoline is entered by a return, at its first byte, and what is in front of
	// it is another function. One that runs may be at its second instruction.
	if isRestorer(u.readCode(&p.m, p.pc, len(restorer64))) ||
		!p.ret && isRestorer(u.readCode(&p.m, p.pc-7, len(restorer64))) {
		return plan{way: waySignal}
	}
	if t.goTable() != nil {
		if n, ok := u.goPlan(p, link); ok {
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
	return &routes{in: u.walkIn(&p.m, start, p.pc, end), out: u.walkOut(&p.m, p.pc, end)}
}
