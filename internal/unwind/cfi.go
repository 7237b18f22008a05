package unwind

// saved computes one register of the caller. It returns Whole for an undefined
// one: a function with an undefined return address has no caller.
func (a *activation) saved(r rule, fn *function, cfa, bias uint64) (uint64, End) {
	addr := cfa + uint64(int64(r.val))
	switch r.kind {
	case ruleOffset:
	case ruleValOffset:
		return addr, 0
	case ruleRegister:
		if v, ok := a.register(r.reg); ok {
			return v, 0
		}
		return 0, NoRegister
	case ruleExpr, ruleValExpr:
		v, end := a.expr.eval(fn.exprs[r.val], a, bias, &cfa)
		if end != 0 || r.kind == ruleValExpr {
			return v, end
		}
		addr = v
	case ruleUndefined:
		return 0, Whole
	default:
		return 0, BadRule
	}
	v, ok := a.mem.word(addr)
	if !ok {
		return 0, Unreadable
	}
	return v, 0
}
