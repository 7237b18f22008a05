package unwind

// leaveCFI leaves a function by call frame information.
func (u *Unwinder) leaveCFI(p *place, n *plan, sp uint64) (exit, End) {
	u.counts.CFI++
	if !p.ret && !n.fn.signal {
		return byReturn, u.leaveInner(p, n, sp)
	}
	end := u.apply(n, p.m.Bias)
	if end == NoRegister {
		end = u.applyFixed(p, n)
	}
	if end != 0 {
		return byReturn, end
	}
	how := byReturn
	if n.fn.signal {
		how = bySignal
	}
	return how, u.check(sp)
}

// leaveInner leaves a function at an interrupted instruction. Hand-written tables may be wrong
// there, in the first and last instructions of a function. LuaJIT has one row for all of its
// interpreter; glibc's swapcontext loads the stack pointer early. If a table leads to an address
// that is not code, the code of the function is read instead.
func (u *Unwinder) leaveInner(p *place, n *plan, sp uint64) End {
	before := u.registers
	end := u.apply(n, p.m.Bias)
	if end == 0 {
		end = u.checkFrom(sp, u.regs[regRIP] != p.pc)
	}
	if end == Whole || end == NoRegister || end == 0 && (u.regs[regRIP] == 0 || u.isCode(u.regs[regRIP])) {
		return end
	}
	wrong := u.registers
	u.registers = before
	if n.routes == nil {
		n.routes = u.newRoutes(p)
	}
	r := n.routes
	if u.tryRoute(&r.in, sp, u.returns) || u.tryRoute(&r.out, sp, u.returns) || u.tryBack(p, sp, r) {
		u.counts.Guess++
		return 0
	}
	u.registers = wrong
	return end
}

// apply computes the caller's registers from a row.
func (a *activation) apply(n *plan, bias uint64) End {
	r := n.row
	var cfa uint64
	switch r.cfa.kind {
	case ruleRegister:
		v, ok := a.register(r.cfa.reg)
		if !ok {
			return NoRegister
		}
		cfa = v + uint64(int64(r.cfa.val))
	case ruleValExpr:
		v, end := a.expr.eval(n.fn.exprs[r.cfa.val], a, bias, nil)
		if end != 0 {
			return end
		}
		cfa = v
	default:
		return BadRule
	}
	return a.applyAt(n, bias, cfa)
}

// applyAt is apply with a known CFA.
func (a *activation) applyAt(n *plan, bias, cfa uint64) End {
	r := n.row
	next := a.registers
	next.set(regRSP, cfa)
	hasRIP := false
	for _, s := range n.fn.rules(r) {
		if a.popped(s, cfa) {
			continue
		}
		v, end := a.saved(s.rule, n.fn, cfa, bias)
		hasRIP = hasRIP || s.column == regRIP
		switch {
		case end == 0:
			next.set(s.column, v)
		case s.column == regRIP || s.column == regRSP:
			return end
		default:
			next.forget(s.column) // matters only if the register is needed
		}
	}
	if !hasRIP {
		return BadRule
	}
	a.registers = next
	return 0
}

// popped reports whether a register has its caller's value again, although a rule still
// says where the value is saved. That place is then below the stack pointer, where an
// epilogue has left it and nothing is kept any more. Compilers do not update the rules
// for each pop. If the copied stack has the word, it has the same value.
func (a *activation) popped(s saved, cfa uint64) bool {
	addr := cfa + uint64(int64(s.rule.val))
	return s.rule.kind == ruleOffset && addr < a.regs[regRSP] && s.column != regRIP && s.column != regRSP &&
		a.known&(1<<s.column) != 0 && !a.mem.covers(addr)
}
