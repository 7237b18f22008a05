package sample

import (
	"time"

	"ptools/internal/procfs"
)

// A timer is set and cancelled whenever its thread is put on a processor and taken off it, which
// costs some 12 us on a virtual machine: a program that does little else runs at a quarter of its
// speed. For a thread to which that happens more often than restlessSlices times from round to
// round, and that runs for less than restlessRun at a time, stops cost less. One that is merely
// pushed aside by others, us among them, runs for longer.
const (
	restlessSlices = 10
	restlessRun    = 200 * time.Microsecond
	restlessRounds = 8    // measured over so many rounds, and for restlessTime
	minRestless    = 8    // then it has no timer for so many, and until it is found to rest;
	maxRestless    = 8192 // up to this, twice as many if it had its timer for no longer than that
	// restlessTime is long enough for it not to matter that the time that a running thread
	// has used is known up to the last scheduler tick only.
	restlessTime = 32 * time.Millisecond
)

// measured is over how many rounds the pace of a thread is measured.
func (c *timers) measured() int64 {
	return max(restlessRounds, int64(restlessTime/c.p.sampler.opt.Period))
}

// pace is how often a thread is put on a processor.
type pace struct {
	since   int64            // the round from which that is counted
	sched   procfs.SchedStat // what it had done until then
	timed   int64            // the round in which it got its timer
	until   int64            // before this round the thread has no timer
	penalty int64            // for how many rounds that was
}

// begin counts anew.
func (p *pace) begin(round int64, sched procfs.SchedStat) { p.since, p.sched = round, sched }

// fast reports whether the thread was put on a processor too often since begin, and counts anew.
func (p *pace) fast(round int64, sched procfs.SchedStat) bool {
	slices := sched.Slices - p.sched.Slices
	fast := slices > restlessSlices*uint64(round-p.since) && sched.Run-p.sched.Run < slices*uint64(restlessRun)
	p.begin(round, sched)
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
	case now-p.since > 2*c.measured():
		p.begin(now, t.now)
		p.until = now + c.measured()
		return true
	}
	if p.fast(now, t.now) {
		p.until = now + p.penalty
		return true
	}
	return false
}

// rests takes its timer away from a restless thread, and reports whether it has it still.
func (c *timers) rests(t *thread) bool {
	p, now := &t.pace, c.p.number
	if now-p.since < c.measured() || !p.fast(now, t.now) {
		return true
	}
	c.stop(t)
	if now-p.timed > p.penalty {
		p.penalty = minRestless / 2
	}
	p.penalty = min(2*p.penalty, maxRestless)
	p.until = now + p.penalty
	return false
}
