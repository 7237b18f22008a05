package calls

import (
	"cmp"
	"slices"
	"time"
)

// A Level says what is done about the calls of a function. Each takes less of the target's time than the one before.
type Level uint8

const (
	Timed    Level = iota // they are counted and timed
	Counted               // they are counted
	Windowed              // they are counted and timed for some milliseconds now and then
	Off                   // nothing; there is no probe
)

// A Coverage says how much of a function's calls was seen, where its probes would take too much of the target's time.
type Coverage struct {
	Level
	Rate float64 // calls a second, when the level was chosen, or of all windows
	// How long the calls were timed and counted, from Begin on.
	Timed, Counted time.Duration
	Partly         bool // they were not timed all the time
}

// cover is the coverage of a function while it changes.
type cover struct {
	Coverage
	from    time.Duration // when the level was chosen
	windows time.Duration // how long all windows were
	share   float64       // what timing it would take, in processors, when it was looked at last
	calm    int           // how often that was little, since it was not
	raised  bool          // it has got its probes back
}

// upTo returns the coverage at a time since Begin.
func (c *cover) upTo(now time.Duration) Coverage {
	all := c.Coverage
	if c.Level <= Counted {
		all.Counted += now - c.from
	}
	if c.Level == Timed {
		all.Timed += now - c.from
	}
	return all
}

// set changes the level.
func (c *cover) set(level Level, rate float64, now time.Duration) {
	c.Coverage = c.upTo(now)
	c.Level, c.Rate, c.Partly, c.from, c.calm = level, rate, true, now, 0
}

// A load is what the probes of a function take of the target, in processors.
type load struct {
	number  int     // of the function
	timed   float64 // if its calls are timed
	counted float64 // if they are counted
	rate    float64 // calls a second
	least   Level   // the level that it has: it gets no more
}

// choose returns the levels of functions so that their probes together take no more than the limit. The functions that take least are chosen first.
// The others have windows.
func choose(loads []load, limit float64) map[int]Level {
	levels := map[int]Level{}
	slices.SortFunc(loads, func(a, b load) int { return cmp.Or(cmp.Compare(a.timed, b.timed), cmp.Compare(a.number, b.number)) })
	for _, l := range loads {
		switch {
		case l.least <= Timed && l.timed <= limit:
			levels[l.number] = Timed
			limit -= l.timed
		case l.least <= Counted && l.counted <= limit:
			levels[l.number] = Counted
			limit -= l.counted
		default:
			levels[l.number] = max(Windowed, l.least)
		}
	}
	return levels
}

// callCost returns what the probes of a function take for each call, if it is counted, and what they take more if it is timed.
func (t *Target) callCost(c Cost) (counted, more time.Duration) {
	of := func(p *Place) time.Duration {
		if p.Emulated {
			return c.Emulated
		}
		return c.Stepped
	}
	if t.Plan.Whole == nil {
		for i := range t.Plan.Returns {
			more = max(more, of(&t.Plan.Returns[i]))
		}
	}
	return of(&t.Plan.Entry), more
}

// CallCost returns what the probes of a function take for each call that is timed. It must have a plan.
func (t *Target) CallCost(c Cost) time.Duration {
	counted, more := t.callCost(c)
	return counted + more
}
