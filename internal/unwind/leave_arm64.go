package unwind

import (
	"encoding/binary"

	"ptools/internal/a64"
)

// A walker is not used: a frame about which no table says anything is left by its frame pointer.
type walker struct{}

// leave sets u's registers to those of the caller of the frame at p, whose
// stack pointer is sp.
func (u *Unwinder) leave(p *place, sp uint64) (exit, End) {
	if !p.ok {
		return byReturn, u.leaveNowhere()
	}
	if p.m.Table == nil {
		return byReturn, u.leaveUnknown(p, sp)
	}
	n := u.plan(p)
	p.site = n.site
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
		return bySignal, u.checkFrom(sp, true)
	case wayCFI:
		u.counts.CFI++
		if end := u.apply(n, p.m.Bias); end != 0 {
			return how, end
		}
		return how, u.checkFrom(sp, !p.ret)
	case wayNone:
		return how, u.leaveUnknown(p, sp)
	}
	u.counts.Go++
	u.parked = u.parked || n.parks
	if end := u.leaveGo(p, n); end != 0 {
		return how, end
	}
	return how, u.checkFrom(sp, !p.ret || n.delta == 0)
}

// newPlan finds out how to leave p's function at p's instruction.
func (l *planner) newPlan(p *place) plan {
	t := p.m.Table
	link := p.lookup() - p.m.Bias
	if string(l.readCode(&p.m, p.pc, len(restorer))) == restorer || !p.ret && string(l.readCode(&p.m, p.pc-4, len(restorer))) == restorer {
		return plan{way: waySignal, site: inTrampoline}
	}
	if !p.ret && string(l.readCode(&p.m, p.pc-8, len(restorer))) == restorer {
		return plan{way: waySignal, site: behindCall} // it is in sigreturn(2)
	}
	if f, ok := t.goFunction(link); ok {
		if n, ok := l.goPlan(p, link, f); ok {
			return n
		}
	}
	if fn := t.function(link); fn != nil {
		if r := fn.row(link); r != nil {
			return plan{way: wayCFI, fn: fn, row: r}
		}
	}
	return plan{}
}

// apply computes the caller's registers from a row.
func (a *activation) apply(n *plan, bias uint64) End {
	var cfa uint64
	switch c := n.row.cfa; c.kind {
	case ruleRegister:
		v, end := a.base(n, c)
		if end != 0 {
			return end
		}
		cfa = v
	case ruleValExpr:
		v, end := a.expr.eval(n.fn.exprs[c.val], a, bias, nil)
		if end != 0 {
			return end
		}
		cfa = v
	default:
		return BadRule
	}
	next := a.registers
	next.set(regSP, cfa)
	for _, s := range n.fn.rules(n.row) {
		v, end := a.saved(s.rule, n.fn, cfa, bias)
		switch {
		case end == 0:
			next.set(s.column, v)
		case s.column == regLR || s.column == regSP:
			return end
		default:
			next.forget(s.column) // matters only if the register is needed
		}
	}
	addr, ok := next.register(regLR)
	if !ok {
		return NoRegister
	}
	a.registers, a.loose = next, false
	a.toReturn(addr)
	return 0
}

// base computes a CFA that is relative to a register. Where the stack pointer is not known exactly, the frame pointer is: it
// points to where the function has saved its caller's, and the row says where that is.
func (a *activation) base(n *plan, c rule) (cfa uint64, end End) {
	v, ok := a.register(c.reg)
	if !ok {
		return 0, NoRegister
	}
	if c.reg != regSP || !a.loose {
		return v + uint64(int64(c.val)), 0
	}
	fp, ok := a.register(regFP)
	for _, s := range n.fn.rules(n.row) {
		if ok && s.column == regFP && s.kind == ruleOffset {
			return fp - uint64(int64(s.val)), 0
		}
	}
	return 0, NoRule
}

// leaveNowhere leaves an innermost frame whose program counter is not in code. It was called through a bad pointer, and LR has
// the return address.
func (u *Unwinder) leaveNowhere() End {
	addr, ok := u.register(regLR)
	if !ok {
		return NotCode
	}
	if u.toReturn(addr); !u.returns(u.regs[regPC]) {
		return NotCode
	}
	u.counts.Guess++
	return 0
}

// leaveUnknown leaves a function about which no table says anything. Its frame is the one that the frame pointer
// leads to, if it has made one yet. Otherwise LR has the return address.
func (u *Unwinder) leaveUnknown(p *place, sp uint64) End {
	if !p.ret && u.tryLR(p) {
		u.counts.Guess++
		return 0
	}
	fp, ok := u.register(regFP)
	switch {
	case !ok:
		return NoRegister
	case fp == 0 && p.ret:
		return Whole // cleared at the bottom of a stack
	case fp < sp || fp&15 != 0:
		return NoRule
	}
	addr, ok := u.mem.word(fp + 8)
	if !ok {
		return Unreadable
	}
	before := u.registers
	u.setFP(u.mem.word(fp))
	u.regs[regSP] = fp + 16 // at least: locals may be above
	u.toReturn(addr)
	switch {
	case u.regs[regPC] == 0:
		return Whole
	case !u.returns(u.regs[regPC]):
		u.registers = before
		return NoRule
	}
	u.counts.Pointer++
	u.loose = true
	return 0
}

// tryLR takes the return address in LR, if the function at p has not made a frame, or cannot have called anything: then LR would
// lead back into a function without tables, as into a stub of a procedure linkage table.
func (u *Unwinder) tryLR(p *place) bool {
	lr, ok := u.register(regLR)
	if !ok {
		return false
	}
	before := u.registers
	u.toReturn(lr)
	pc := u.regs[regPC]
	if m, found := u.code.Find(pc - 1); found && u.returns(pc) && (!u.hasFrame(p) || m.Table != nil && m.Table.function(pc-1-m.Bias) != nil) {
		return true
	}
	u.registers = before
	return false
}

// hasFrame reports whether the function at p has made its frame when it comes to p: whether there is an instruction that
// sets the frame pointer between its start and p.
func (u *Unwinder) hasFrame(p *place) bool {
	if p.m.Table == nil {
		return true // where it begins is not known
	}
	start, _, ok := p.m.Table.obj.extent(p.pc - p.m.Bias)
	if !ok {
		return true
	}
	code := u.readCode(&p.m, start+p.m.Bias, int(min(p.pc-p.m.Bias-start, codeWindow)))
	for ; len(code) >= a64.Size; code = code[a64.Size:] {
		if a64.SetsFP(binary.LittleEndian.Uint32(code)) {
			return true
		}
	}
	return false
}
