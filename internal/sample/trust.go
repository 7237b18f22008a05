package sample

// Some stacks cannot be told from what an interrupt copies: in a handler on an alternate signal
// stack, in Go called by C, where the Go runtime moves a goroutine's stack. Their samples are
// dropped, and the thread is stopped instead where it has no other. It is somewhere else then, so
// these places have fewer samples than they should. Where that is more than one of
// lostOf, the running threads of the process are stopped for a while, and for twice as long if
// the timers' samples were of use for no longer than that.
const (
	lostOf    = 100
	trustSpan = 1000 // samples after which the past counts half
	maxBarred = 64 * strictStacks
)

// trust is how much of what the timers of a process sample can be used.
type trust struct {
	taken, dropped int // since threads were last stopped for it
	barred         int // so many stacks more are taken by stops
	penalty        int // that was last, at its beginning
}

// won counts a sample that can be used.
func (t *trust) won() {
	if t.taken++; t.taken >= trustSpan {
		t.taken, t.dropped, t.penalty = t.taken/2, t.dropped/2, 0
	}
}

// lost counts one that cannot. The first is forgiven.
func (t *trust) lost() {
	if t.dropped++; (t.dropped-1)*lostOf <= t.taken {
		return
	}
	if t.taken > t.penalty {
		t.penalty = strictStacks / 2
	}
	t.penalty = min(max(2*t.penalty, strictStacks), maxBarred)
	t.taken, t.dropped, t.barred = 0, 0, t.penalty
}

// stopped counts a stack that was taken by a stop.
func (t *trust) stopped() { t.barred = max(t.barred-1, 0) }
