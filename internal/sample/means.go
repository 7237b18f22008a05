package sample

import (
	"fmt"
	"math"
	"time"

	"ptools/internal/profile"
)

// means describes how the processor time was divided since a moment with that cost.
func (s *Sampler) means(since *Cost) string {
	switch {
	case s.looks != nil:
		return fmt.Sprintf("%d stops of running threads%s", s.cost.Ticks-since.Ticks, byChance(s.cost.Ticks-since.Ticks))
	case s.opt.Ticks == nil:
		// A thread stops at the end of the call that it is in.
		return fmt.Sprintf("%d stops of running threads%s; short system calls may come out wrong", s.cost.Stops-since.Stops,
			byChance(s.cost.Stops-since.Stops))
	}
	rate := profile.Hertz(s.tickPeriod())
	if s.tree != nil && s.tree.pace.slow != 0 {
		rate = profile.Hertz(s.tree.pace.slow) + " to " + profile.Hertz(tickPeriod(s.opt.Period))
	}
	return fmt.Sprintf("%d samples of the processors' timers (%s Hz)", s.cost.Ticks-since.Ticks, rate)
}

// tickPeriod returns how much processor time a tick stands for, or would stand for.
func (s *Sampler) tickPeriod() time.Duration {
	if s.opt.Ticks != nil {
		return s.opt.Ticks.Period()
	}
	return s.opt.Period
}

// stops reports whether threads are stopped.
func (s *Sampler) stops() bool { return s.opt.Ticks == nil || s.looks != nil }

// mostStretch returns by how much the counted time may be stretched.
func (s *Sampler) mostStretch() float64 {
	if s.looks != nil {
		return math.Inf(1) // a look meets one thread at most, and most looks meet none
	}
	return maxStretch
}
