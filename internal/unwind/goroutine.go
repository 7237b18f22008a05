package unwind

// Offsets in the runtime's g and m (runtime/runtime2.go), the same since Go 1.5. In
// front of g.m are the stack bounds, two guards, and the innermost panic and defer.
// Behind it, g.sched begins with sp, pc and g. m begins with g0.
const (
	gM       = 48
	gSchedSP = 56
	gSchedPC = 64
	gSchedG  = 72
)

// mWords is how many words of m are searched for its current goroutine. Its offset
// depends on the version of Go.
const mWords = 64

// goM returns the m of the thread: the runtime's own structure for it.
func (a *activation) goM(tls int32) (uint64, bool) {
	g, ok := a.goG(tls)
	if !ok {
		return 0, false
	}
	return a.mem.word(g + gM)
}

// goG returns the g that runs on the thread. It is in thread-local storage, or else in the register that
// Go code keeps it in. A g must be plausible: its m has a g0 that has the same m.
func (a *activation) goG(tls int32) (uint64, bool) {
	g, ok := a.goReg, a.goReg%8 == 0
	if a.tls != 0 {
		g, ok = a.mem.word(a.tls + uint64(int64(tls)))
	}
	if !ok || g == 0 {
		return 0, false
	}
	m, ok := a.mem.word(g + gM)
	if !ok || m == 0 {
		return 0, false
	}
	g0, ok := a.mem.word(m)
	if !ok || g0 == 0 {
		return 0, false
	}
	back, ok := a.mem.word(g0 + gM)
	return g, ok && back == m
}

// goCurrent returns the user goroutine of the thread (m.curg). It is the first of
// m's pointers that leads to a g other than g0 which has this m, and itself in
// sched.g. The g of the signal stack does not have itself there.
func (a *activation) goCurrent(tls int32) (uint64, bool) {
	m, ok := a.goM(tls)
	if !ok {
		return 0, false
	}
	g0, _ := a.mem.word(m)
	for i := range uint64(mWords) {
		g, ok := a.mem.word(m + 8*i)
		if !ok {
			return 0, false
		}
		if g == g0 || g&7 != 0 || g < pageSize || g >= 1<<47 {
			continue
		}
		if back, ok := a.mem.word(g + gM); !ok || back != m {
			continue
		}
		if self, ok := a.mem.word(g + gSchedG); ok && self == g {
			return g, true
		}
	}
	return 0, false
}
