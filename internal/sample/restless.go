package sample

// A timer is set and cancelled whenever its thread is put on a processor and taken off it, which
// costs some 12 us on a virtual machine: a program that does little else runs at a quarter of its
// speed. For a thread to which that happens more often than restlessSlices times from round to
// round, stops cost less.
const (
	restlessSlices = 4
	restlessRounds = 8    // measured over so many rounds
	minRestless    = 256  // then it has no timer for so many, twice as many the next time
	maxRestless    = 8192 // up to this
)

// pace is how often a thread is put on a processor.
type pace struct {
	since   int64  // the round from which that is counted
	slices  uint64 // how often it had been until then
	until   int64  // before this round the thread has no timer
	penalty int64  // for how many rounds that was
}

// begin counts anew.
func (p *pace) begin(round int64, slices uint64) { p.since, p.slices = round, slices }

// fast reports whether the thread was put on a processor too often since begin, and counts anew.
func (p *pace) fast(round int64, slices uint64) bool {
	fast := slices-p.slices > restlessSlices*uint64(round-p.since)
	p.begin(round, slices)
	if fast {
		p.penalty = min(max(2*p.penalty, minRestless), maxRestless)
		p.until = round + p.penalty
	}
	return fast
}

// isRestless reports whether a thread is to do without a timer: not long ago its pace was too
// fast, or it is now, measured again.
func (c *timers) isRestless(t *thread) bool {
	p, now := &t.pace, c.p.number
	switch {
	case now < p.until:
		return true
	case p.until == 0:
		return false
	case now-p.since > 2*restlessRounds:
		p.begin(now, t.now.Slices)
		p.until = now + restlessRounds
		return true
	}
	return p.fast(now, t.now.Slices)
}

// rests takes its timer away from a restless thread, and reports whether it has it still.
func (c *timers) rests(t *thread) bool {
	if c.p.number-t.pace.since >= restlessRounds && t.pace.fast(c.p.number, t.now.Slices) {
		c.stop(t)
		return false
	}
	return true
}
