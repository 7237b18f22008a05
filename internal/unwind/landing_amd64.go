package unwind

// landingFrames is how many frames above a landing must agree with each other, unless the stack
// ends earlier.
const landingFrames = 16

// landingLeast is how many must agree if the outermost was called by other code made at run time.
const landingLeast = 2

// land leaves code made at run time about which nothing else is known. Such code may keep its own
// stack elsewhere, and move the stack pointer by an amount that no instruction in sight shows.
// Machine code of traces does not return but jumps back into its interpreter. But the code was
// entered from code of a file, by a call whose return address is still on the stack. From there
// tables lead on. A word counts as that address if tables lead on from it to the end of the stack,
// for landingFrames frames, or to a call in other code made at run time. If a direct call on the
// way leads to another function than the one that was left, the word is doubtful: it is left from
// an earlier call, or belongs to the caller of a function that jumped on. A doubtful word is taken
// if there is no better one. A nearer return address in other code made at run time is taken at
// once: it cannot be tried.
func (u *Unwinder) land(sp uint64) bool {
	before := u.registers
	var doubtful uint64
	for i := range uint64(scanWords) {
		addr := sp + 8*i
		pc, ok := u.mem.word(addr)
		if !ok {
			break
		}
		m, ok := u.code.Find(pc - 1)
		if !ok || !u.returns(pc) {
			continue
		}
		if m.Table == nil { // called by other code made at run time
			u.registers = before
			u.regs[regRSP], u.regs[regRIP] = addr+8, pc
			return true
		}
		leads, exact := u.tryLanding(addr, pc)
		if leads && exact {
			u.landAt(addr, pc)
			return true
		}
		if leads && doubtful == 0 {
			doubtful = addr
		}
	}
	u.registers = before
	if doubtful == 0 {
		return false
	}
	pc, _ := u.mem.word(doubtful)
	u.landAt(doubtful, pc)
	return true
}

// landAt sets the registers to those known after the return to pc, whose word is at addr.
func (u *Unwinder) landAt(addr, pc uint64) {
	u.regs[regRSP], u.regs[regRIP] = addr+8, pc
	u.known = 1<<regRSP | 1<<regRIP
}

// tryLanding unwinds from a possible return address by tables alone. It reports whether they lead
// on, and whether each direct call on the way leads to the function that was left. It leaves u's
// registers undefined, and the counts unchanged.
func (u *Unwinder) tryLanding(addr, pc uint64) (leads, exact bool) {
	counts, strays, hops := u.counts, u.mem.strays, u.hops
	defer func() { u.counts, u.mem.strays, u.hops = counts, strays, hops }()
	u.landAt(addr, pc)
	exact = true
	for i := range landingFrames {
		at := place{pc: u.regs[regRIP], ret: true}
		if at.m, at.ok = u.code.Find(at.lookup()); !at.ok || at.m.Table == nil {
			return at.ok && i >= landingLeast, exact
		}
		n := u.plan(&at)
		switch n.way {
		case wayTop:
			return true, exact
		case wayCFI:
		default:
			return false, false
		}
		_, end := u.leaveCFI(&at, n, u.regs[regRSP])
		if end != 0 {
			return end == Whole, exact
		}
		target, ok := u.called(u.regs[regRIP])
		if !ok {
			return false, false
		}
		if m, ok := u.code.Find(target); ok && m.Table == at.m.Table {
			link := target - m.Bias
			exact = exact && link >= n.fn.start && link < n.fn.end
		}
	}
	return true, exact
}
