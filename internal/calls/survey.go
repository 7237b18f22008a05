package calls

import (
	"time"

	"ptools/internal/perfevent"
)

// Before calls are counted, probes are tried on a few functions at a time, at their entries and for some milliseconds. That tells how often each is
// called, while the target is slowed by few functions only. All functions of a busy program at once could slow it a hundred times.

const (
	surveyLength = 50 * time.Millisecond // of all groups together, where they are few
	surveyLeast  = 2 * time.Millisecond  // of a group of which none is called
	surveyCalled = 10 * time.Millisecond // of one that is
	surveyLook   = time.Millisecond      // between looks at the hits
	surveySpent  = 4 * time.Millisecond  // what a group may take of the target before it is lifted
	groupFirst   = 32                    // functions of the first group
	groupLeast   = 8
	groupMost    = 512
)

// survey finds out how often the functions are called, and chooses their levels.
func (w *Watch) survey() {
	loads := make([]load, 0, len(w.numbered))
	size := groupFirst
	window := max(surveyLeast, surveyLength/time.Duration(1+len(w.numbered)/groupFirst))
	for i := range w.texts {
		for rest := w.texts[i].entries; len(rest) > 0; {
			group := rest[:min(size, len(rest))]
			rest = rest[len(group):]
			share := 0.0
			for _, l := range w.try(w.texts[i].path(), group, window) {
				share += l.counted
				loads = append(loads, l)
			}
			switch {
			case share > w.spec.Limit/2:
				size = max(size/2, groupLeast)
			case share < w.spec.Limit/10:
				size = min(2*size, groupMost)
			}
		}
	}
	for i := range loads {
		w.guard.expected += loads[i].timed
	}
	// Half of what they may take: how often they are called changes.
	w.guard.set(w, loads, choose(loads, w.spec.Limit/2), 0)
}

// try puts probes at the entries of some functions for a while, and returns what theirs would take.
func (w *Watch) try(path string, group []perfevent.CallPlace, window time.Duration) []load {
	lift := w.kernel.Survey(path, group)
	from := time.Now()
	before := make([]perfevent.CallHits, len(group))
	for i := range group {
		before[i] = w.kernel.Hits(group[i].Function)
	}
	var now []perfevent.CallHits
	for spent := time.Duration(0); time.Since(from) < window && spent < surveySpent || len(now) == 0; {
		time.Sleep(surveyLook)
		spent, now = 0, now[:0]
		for i := range group {
			h := w.kernel.Hits(group[i].Function)
			h.Emulated, h.Stepped = h.Emulated-before[i].Emulated, h.Stepped-before[i].Stepped
			spent += w.spec.Cost.Of(h)
			now = append(now, h)
		}
		if spent > 0 {
			window = max(window, surveyCalled)
		}
	}
	length := time.Since(from).Seconds()
	lift()
	loads := make([]load, len(group))
	for i := range group {
		number := group[i].Function
		rate := float64(now[i].Emulated+now[i].Stepped) / length
		counted, more := w.numbered[number].callCost(w.spec.Cost)
		loads[i] = load{number: number, counted: rate * counted.Seconds(), timed: rate * (counted + more).Seconds(), rate: rate}
	}
	return loads
}
