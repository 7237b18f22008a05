package unwind

// returns reports whether addr looks like a return address: in executable code,
// behind a call. If the code cannot be read, it returns true.
func (r *codeReader) returns(addr uint64) bool {
	_, ok := r.called(addr)
	return ok
}

// A callsite remembers what called found at an address.
type callsite struct {
	table  *Table // nil: code made at run time, for which the entry is valid for a number of stacks
	addr   uint64 // link-time
	target uint64
	since  uint64 // number of the stack
	ok     bool
}

// callCacheLg is the logarithm of the number of call sites remembered at most.
const callCacheLg = 10

// called is returns; it also returns the target of a direct call.
func (r *codeReader) called(addr uint64) (target uint64, ok bool) {
	m, ok := r.code.Find(addr - 1)
	if !ok || addr-m.Start < maxCall {
		return 0, false
	}
	link := addr - m.Bias
	c := r.calls.set(link)
	if c.table != m.Table || c.addr != link || c.table == nil && r.outdated(c) {
		c = r.calls.room(link, callCacheLg)
		*c = callsite{table: m.Table, addr: link, since: r.stacks}
		if code := r.readCode(&m, addr-maxCall, maxCall); len(code) == maxCall {
			c.target, c.ok = endsInCall(code, link)
		} else {
			c.ok = m.Table == nil
		}
	}
	if c.target == 0 {
		return 0, c.ok
	}
	return c.target + m.Bias, c.ok
}

// outdated reports whether code made at run time must be read again.
func (r *codeReader) outdated(c *callsite) bool {
	if c.ok {
		return r.stacks-c.since > madeTrust
	}
	return r.stacks-c.since > madeDoubt
}
