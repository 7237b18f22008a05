package unwind

import "encoding/binary"

// returnAddress reads the return address of the Go function with a frame that n is the plan of.
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

// isCallOf reports whether pc is behind a call, of the function at start if it says of which.
func (u *Unwinder) isCallOf(pc, start uint64) bool {
	target, ok := u.called(pc)
	if !ok || target == 0 {
		return ok
	}
	m, _ := u.code.Find(pc - 1)
	return target-m.Bias == start || u.jumpsTo(&m, target-m.Bias, start)
}

// jumpsTo reports whether a function at from does hardly more than jump to start: a wrapper for
// another calling convention, one of the many entries of the write barrier.
func (u *Unwinder) jumpsTo(m *Mapping, from, start uint64) bool {
	const most, size = 48, 5 // jmp rel32
	f, ok := m.Table.goFunction(from)
	if !ok || f.start != from {
		return false
	}
	code := u.readCode(m, from+m.Bias, int(min(f.end-from, most)))
	for i := 0; i+size <= len(code); i++ {
		to := from + uint64(i+size) + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+1:]))))
		if code[i] == 0xe9 && to == start {
			return true
		}
	}
	return false
}

// isGoexit reports whether the first function of a goroutine returns to pc: behind the first
// instruction, of one byte, of a function that nothing calls (runtime.newproc1).
func (u *Unwinder) isGoexit(pc uint64) bool {
	m, ok := u.code.Find(pc - 1)
	if !ok || m.Table == nil {
		return false
	}
	f, ok := m.Table.goFunction(pc - 1 - m.Bias)
	return ok && f.top && pc-1-m.Bias == f.start
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
