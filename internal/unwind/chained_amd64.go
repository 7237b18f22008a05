package unwind

// returnAddress reads the return address of the Go function with a frame whose plan is n.
func (u *Unwinder) returnAddress(n *plan, addr uint64) (uint64, bool) {
	if pc, ok := u.mem.copied(addr); ok {
		return pc, true
	}
	if u.chain.taken {
		u.chain.addr = addr
	}
	if pc, ok := u.chain.word(addr, &u.mem); ok && (u.isCallOf(pc, n.start) || u.isGoexit(pc)) {
		u.chain.take()
		return pc, true
	}
	return u.mem.word(addr)
}

// leaveChained leaves a function that a chain has led to.
func (u *Unwinder) leaveChained(p *place, sp uint64) End {
	if !p.ok || p.m.Table == nil {
		return NoRule
	}
	n := u.plan(p)
	switch {
	case n.way == wayTop:
		return Whole
	case n.way != wayGo || n.forced || n.saves || n.delta < 8:
		return NoRule
	}
	u.counts.Go++
	if end := u.leaveGoFrame(n, sp); end != 0 {
		return end
	}
	return u.check(sp)
}
