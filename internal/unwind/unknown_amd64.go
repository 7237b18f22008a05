package unwind

const (
	// scanWords is how much of the stack is searched for a return address when
	// nothing else is known about the innermost frame.
	scanWords = 256
	// topWords is how many words above a caller are searched for the thread's first function.
	topWords = 64
	// maxEntered is how large a frame of an interpreter is at most.
	maxEntered = 64 << 10
	// entrySize is more than the code at an ELF entry point, up to its call of
	// the C library.
	entrySize = 64
)

// leaveUnknown leaves a function about which no table says anything.
//
// In code made at run time a callee may return to where nothing has called it. Either an interpreter has pushed the
// address where it continues, or it is what the first function of a stack returns to, and never comes back from, as for
// a process of BEAM. What is behind the end of a stack looks like more of it. So how such a frame is left is in doubt,
// unless by a frame pointer, which an interpreter keeps; and so is what a caller is left for by a search.
func (u *Unwinder) leaveUnknown(p *place, sp uint64, n *plan) (exit, End) {
	if p.m.Table != nil || !p.ret {
		return u.guess(p, sp, n)
	}
	if !u.returns(p.pc) {
		p.site = entered
		if fp, _ := u.register(regRBP); fp-sp < maxEntered && (u.tryPointer(sp, u.returns) || u.tryPointer(sp, u.isMade)) {
			u.counts.Pointer++
			return byReturn, 0
		}
	}
	searches := u.counts.Scan
	how, end := u.guess(p, sp, n)
	u.doubt = u.doubt || p.site == entered || u.counts.Scan != searches
	return how, end
}

// guess leaves a function about which no table says anything. It tries, in this order:
// what the code from the function's start to here has done to the stack; what the code from here
// to the return will do; where a function ends with its call, what the code from a possible start to here has done; the frame
// pointer; what the code from a possible start to here has done;
// the bottom of a stack; for code made at run time the nearest code of a file (land); and for the
// innermost frame anything on the stack that looks like a return address. Each result must be the
// address behind a call, except between functions made at run time (isMade) and at the bottom
// (tryBottom).
func (u *Unwinder) guess(p *place, sp uint64, n *plan) (exit, End) {
	var r routes
	switch {
	case n.routes != nil:
		r = *n.routes
	case p.m.Table == nil:
		r.out = u.generated(p).out
	}
	if u.tryRoute(&r.in, sp, u.returns) || u.tryRoute(&r.out, sp, u.returns) {
		u.counts.Guess++
		return byReturn, 0
	}
	made := p.m.Table == nil
	if made && r.out.cfa.reg == regRSP && u.tryRoute(&r.out, sp, u.isMade) {
		u.counts.Guess++
		return byReturn, 0
	}
	if n.routes != nil && n.routes.ends && u.tryBack(p, sp, n.routes) {
		u.counts.Guess++
		return byReturn, 0 // rbp is that of a caller, and leads past the next one
	}
	bare := n.routes != nil && n.routes.bare // the frame pointer would skip the caller
	if !bare && u.tryPointer(sp, u.returns) || made && u.tryPointer(sp, u.isMade) {
		u.counts.Pointer++
		return byReturn, 0
	}
	if made && u.replaced(p) {
		return u.guess(p, sp, n)
	}
	if n.routes != nil && u.tryBack(p, sp, n.routes) {
		u.counts.Guess++
		return byReturn, 0
	}
	if !p.ret && !made && u.isStart(&p.m, p.pc) {
		return byReturn, Whole // the word on top of a new thread's stack is not a return address
	}
	if end, ok := u.tryBottom(&r, sp); ok {
		u.counts.Guess++
		return byReturn, end
	}
	return byReturn, u.search(p, sp)
}

// search searches the stack of a frame for a return address.
func (u *Unwinder) search(p *place, sp uint64) End {
	if p.m.Table != nil && p.ret {
		return u.findTop(sp)
	}
	if u.partial && u.known&(1<<regRBP) == 0 {
		return NoRegister // it is better to stop the thread than to guess
	}
	if p.m.Table == nil && u.land(sp) || !p.ret && u.scan(p, sp) {
		u.counts.Scan++
		return 0
	}
	return NoRule
}

// leaveNowhere leaves an innermost frame whose program counter is not in code. It was
// called through a bad pointer, and the return address is on top of the stack.
func (u *Unwinder) leaveNowhere(sp uint64) End {
	r := route{ok: true}
	r.cfa, _ = registerRule(regRSP, 8)
	if u.tryRoute(&r, sp, u.returns) {
		u.counts.Guess++
		return 0
	}
	if u.tryPointer(sp, u.returns) {
		u.counts.Pointer++
		return 0
	}
	return NotCode
}

// tryRoute takes a route if it leads to a return address above sp.
func (u *Unwinder) tryRoute(r *route, sp uint64, returns func(uint64) bool) bool {
	cfa, ok := u.address(r.cfa)
	if !ok || !r.ok || cfa <= sp {
		return false
	}
	pc, ok := u.mem.word(cfa - 8)
	if !ok || !returns(pc) {
		return false
	}
	if r.rbp {
		at, _ := u.address(r.at)
		u.setFP(u.mem.word(at))
	}
	u.regs[regRSP], u.regs[regRIP] = cfa, pc
	return true
}

// tryBottom takes a route that leads to the bottom of a stack: to zero, or to the return
// address of the stack's first function.
func (u *Unwinder) tryBottom(r *routes, sp uint64) (End, bool) {
	for _, r := range []*route{&r.in, &r.out} {
		cfa, ok := u.address(r.cfa)
		if !ok || !r.ok || cfa <= sp {
			continue
		}
		pc, ok := u.mem.word(cfa - 8)
		switch {
		case !ok:
		case pc == 0:
			return Whole, true
		default:
			if m, ok := u.code.Find(pc); ok && m.Table != nil && m.Table.begins(pc-m.Bias) {
				u.forget(regRBP)
				u.regs[regRSP], u.regs[regRIP] = cfa, pc
				return 0, true
			}
		}
	}
	return 0, false
}

// tryPointer takes the frame that rbp points to, if it is one.
func (u *Unwinder) tryPointer(sp uint64, returns func(uint64) bool) bool {
	fp, ok := u.register(regRBP)
	if !ok || fp < sp || fp&7 != 0 {
		return false
	}
	pc, ok := u.mem.word(fp + 8)
	if !ok || !returns(pc) {
		return false
	}
	u.setFP(u.mem.word(fp))
	u.regs[regRSP], u.regs[regRIP] = fp+16, pc
	return true
}

// findTop looks above a caller for a return address in the code that starts programs
// and threads, and takes it. C libraries without call frame information call main
// from functions that never return and keep no frame pointer.
func (u *Unwinder) findTop(sp uint64) End {
	for i := range uint64(topWords) {
		addr := sp + 8*i
		pc, ok := u.mem.word(addr)
		if !ok {
			break
		}
		if !u.returns(pc) {
			continue
		}
		if m, ok := u.code.Find(pc - 1); !ok || m.Table == nil || !u.isStart(&m, pc) {
			break
		}
		u.counts.Scan++
		u.regs[regRSP], u.regs[regRIP] = addr+8, pc
		return 0
	}
	return NoRule
}

// scan looks for a return address above sp: first for one behind a call of p's
// function, then for any.
func (u *Unwinder) scan(p *place, sp uint64) bool {
	var start, end uint64
	if t := p.m.Table; t != nil {
		if s, e, ok := t.obj.extent(p.pc - p.m.Bias); ok {
			start, end = s+p.m.Bias, e+p.m.Bias
		}
	}
	var best, bestPC uint64
	for i := range uint64(scanWords) {
		addr := sp + 8*i
		pc, ok := u.mem.word(addr)
		if !ok {
			break
		}
		target, ok := u.called(pc)
		if !ok {
			continue
		}
		exact := target != 0 && target >= start && target < end
		if best == 0 || exact {
			best, bestPC = addr, pc
		}
		if exact || start == end {
			break
		}
	}
	if best == 0 {
		return false
	}
	u.regs[regRSP], u.regs[regRIP] = best+8, bestPC
	return true
}
