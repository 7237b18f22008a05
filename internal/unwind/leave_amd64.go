package unwind

// leave makes u's registers those of the caller of the frame at p, whose stack
// pointer is sp.
func (u *Unwinder) leave(p *place, sp uint64) (exit, End) {
	if u.chain.taken {
		return byReturn, u.leaveChained(p, sp)
	}
	if !p.ok {
		return byReturn, u.leaveNowhere(sp)
	}
	if p.m.Table == nil {
		return u.leaveUnknown(p, sp, &plan{})
	}
	n := u.plan(p)
	if n.way == wayCFI {
		return u.leaveCFI(p, n, sp)
	}
	return u.leaveOther(p, n, sp)
}

// leaveCFI leaves by call frame information.
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

// leaveInner leaves an instruction that was interrupted. Tables by hand may be wrong there, in
// the first and last instructions of a function (LuaJIT has one row for all of its interpreter,
// glibc's swapcontext loads the stack pointer early). Where one leads to what is not code the code
// itself is asked.
func (u *Unwinder) leaveInner(p *place, n *plan, sp uint64) End {
	regs, known := u.regs, u.known
	end := u.apply(n, p.m.Bias)
	if end == 0 {
		end = u.check(sp)
	}
	if end == Whole || end == NoRegister || end == 0 && (u.regs[regRIP] == 0 || u.isCode(u.regs[regRIP])) {
		return end
	}
	wrong, wrongKnown := u.regs, u.known
	u.regs, u.known = regs, known
	if n.routes == nil {
		n.routes = u.newRoutes(p)
	}
	r := n.routes
	if u.tryRoute(&r.in, sp, u.returns) || u.tryRoute(&r.out, sp, u.returns) || u.tryBack(p, sp, r) {
		u.counts.Guess++
		return 0
	}
	u.regs, u.known = wrong, wrongKnown
	return end
}

// isCode reports whether addr is a possible return address.
func (u *Unwinder) isCode(addr uint64) bool {
	_, ok := u.code.Find(addr - 1)
	return ok
}

// leaveOther leaves by anything but call frame information.
func (u *Unwinder) leaveOther(p *place, n *plan, sp uint64) (exit, End) {
	how := byReturn
	if n.forced {
		how = byInterrupt
	}
	switch n.way {
	case wayTop:
		return how, Whole
	case waySignal:
		if end := u.leaveSignal(); end != 0 {
			return bySignal, end
		}
		return bySignal, u.check(sp)
	case wayNone:
		return u.leaveUnknown(p, sp, n)
	}
	u.counts.Go++
	if end := u.leaveGo(p, n); end != 0 {
		return how, end
	}
	return how, u.check(sp)
}

// check accepts the caller's stack pointer: it is above the callee's, or in other
// memory than the copied stack, which makes it another stack.
func (u *Unwinder) check(sp uint64) End {
	now := u.regs[regRSP]
	if now > sp {
		return 0
	}
	if now == sp || u.mem.covers(now) && u.mem.covers(sp) {
		return Loop
	}
	u.counts.Switches++
	u.hops++
	if u.hops > MaxSwitches {
		return TooDeep
	}
	return 0
}

// apply computes the caller's registers from a row.
func (u *Unwinder) apply(n *plan, bias uint64) End {
	r := n.row
	var cfa uint64
	switch r.cfa.kind {
	case ruleRegister:
		v, ok := u.register(r.cfa.reg)
		if !ok {
			return NoRegister
		}
		cfa = v + uint64(int64(r.cfa.val))
	case ruleValExpr:
		v, end := u.expr.eval(n.fn.exprs[r.cfa.val], u, bias, nil)
		if end != 0 {
			return end
		}
		cfa = v
	default:
		return BadRule
	}
	return u.applyAt(n, bias, cfa)
}

// applyAt is apply where the CFA is known.
func (u *Unwinder) applyAt(n *plan, bias, cfa uint64) End {
	r := n.row
	regs, known := u.regs, u.known|1<<regRSP
	regs[regRSP] = cfa
	hasRIP := false
	for _, s := range n.fn.rules(r) {
		if u.popped(s, cfa) {
			continue
		}
		v, end := u.saved(s.rule, n.fn, cfa, bias)
		hasRIP = hasRIP || s.column == regRIP
		switch {
		case end == 0:
			regs[s.column] = v
			known |= 1 << s.column
		case s.column == regRIP || s.column == regRSP:
			return end
		default:
			known &^= 1 << s.column // matters only if somebody asks for it
		}
	}
	if !hasRIP {
		return BadRule
	}
	u.regs, u.known = regs, known
	return 0
}

// popped reports that a register has its caller's value again although a rule still says
// where that is saved: below the stack pointer, where an epilogue has left it and nothing
// is kept any more. Compilers do not bring the rules up to date for each pop. Where the
// copied stack has the word, it holds the same.
func (u *Unwinder) popped(s saved, cfa uint64) bool {
	addr := cfa + uint64(int64(s.rule.val))
	return s.rule.kind == ruleOffset && addr < u.regs[regRSP] && s.column != regRIP && s.column != regRSP &&
		u.known&(1<<s.column) != 0 && !u.mem.covers(addr)
}

// saved computes one register of the caller. Whole stands for an undefined one:
// a return address that is undefined has nowhere to return to.
func (u *Unwinder) saved(r rule, fn *function, cfa, bias uint64) (uint64, End) {
	addr := cfa + uint64(int64(r.val))
	switch r.kind {
	case ruleOffset:
	case ruleValOffset:
		return addr, 0
	case ruleRegister:
		if v, ok := u.register(r.reg); ok {
			return v, 0
		}
		return 0, NoRegister
	case ruleExpr, ruleValExpr:
		v, end := u.expr.eval(fn.exprs[r.val], u, bias, &cfa)
		if end != 0 || r.kind == ruleValExpr {
			return v, end
		}
		addr = v
	case ruleUndefined:
		return 0, Whole
	default:
		return 0, BadRule
	}
	v, ok := u.mem.word(addr)
	if !ok {
		return 0, Unreadable
	}
	return v, 0
}
