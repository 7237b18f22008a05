package unwind

// check accepts the caller's stack pointer if it is above the callee's, or
// outside of the copied stack, and so in another stack.
func (u *Unwinder) check(sp uint64) End {
	now := u.regs[regSP]
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
