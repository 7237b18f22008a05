package unwind

import "ptools/internal/ptrace"

// leave sets u's registers to those of the caller of the frame at p, whose
// stack pointer is sp.
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
	if p.site = n.site; p.site == behindTrampoline {
		if p.site = behindCall; u.inSigreturn(p.pc) {
			p.site, p.pc = inTrampoline, p.pc-ptrace.SyscallLength
			return u.leaveOther(p, &plan{way: waySignal}, sp)
		}
	}
	if n.way == wayCFI {
		return u.leaveCFI(p, n, sp)
	}
	return u.leaveOther(p, n, sp)
}

// leaveOther leaves a function by other means than call frame information.
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
	u.parked = u.parked || n.parks
	if end := u.leaveGo(p, n); end != 0 {
		return how, end
	}
	return how, u.check(sp)
}
