package unwind

// The kernel shows the stack pointer and the program counter of a thread that is blocked in a system call, and
// no other register. A function whose row needs rbp then cannot be left by its row, if none of its callees has
// saved rbp. If its frame has a fixed size, as nearly all frames have, the code between its start and the call
// shows the size.

// applyFixed applies the row of a function whose frame pointer is not known. The code must lead to a return address.
func (u *Unwinder) applyFixed(p *place, n *plan) End {
	if n.row.cfa.kind != ruleRegister || n.row.cfa.reg != regRBP {
		return NoRegister
	}
	if n.fixed == nil {
		r := u.walkFixed(&p.m, n.fn.start+p.m.Bias, p.pc, n.fn.end+p.m.Bias)
		n.fixed = &r
	}
	cfa, ok := u.address(n.fixed.cfa)
	if !n.fixed.ok || !ok || cfa <= u.regs[regRSP] {
		return NoRegister
	}
	before := u.registers
	if end := u.applyAt(n, p.m.Bias, cfa); end != 0 || !u.returns(u.regs[regRIP]) {
		u.registers = before
		return NoRegister
	}
	u.counts.Guess++
	return 0
}
