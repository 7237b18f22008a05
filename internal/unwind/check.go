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

// checkFrom is check for a frame that may have no memory of its own: only the innermost function, and one that was interrupted, can be such.
// On arm64 one that calls nothing needs none. On amd64 vfork(2) has its return address in a register while the child runs, which
// would overwrite it.
func (u *Unwinder) checkFrom(sp uint64, leaf bool) End {
	if leaf && u.regs[regSP] == sp {
		return 0
	}
	return u.check(sp)
}
