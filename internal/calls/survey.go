package calls

import (
	"time"

	"ptools/internal/perfevent"
)

// Before calls are counted, probes are tried at the entries of functions: first of a few at a time for some milliseconds, then of all that were not
// called too often. That tells how often each is called, while the target is slowed little. All functions of a busy program at once could slow it a
// hundred times.

const (
	surveyEach  = 2 * time.Millisecond // how long a group is looked at
	surveyAll   = 100 * time.Millisecond
	surveySpent = 4 * time.Millisecond // what the probes of a group may take of the target before they are lifted
	surveyLook  = time.Millisecond     // between looks at the hits
	mostRounds  = 8                    // of all together

	groupFirst = 32 // functions of the first group
	groupLeast = 8
	groupMost  = 512
)

// survey finds out how often the functions are called, and chooses their levels.
func (w *Watch) survey() {
	var loads []load
	size := groupFirst
	for i := range w.texts {
		for rest := w.texts[i].entries; len(rest) > 0; {
			group := []surveyed{{w.texts[i].path(), rest[:min(size, len(rest))]}}
			rest = rest[len(group[0].entries):]
			found, _ := w.try(group, surveyEach, surveySpent)
			share := 0.0
			for j := range found {
				share += found[j].counted
				w.guard.expected += found[j].timed
			}
			switch {
			case share > w.spec.Limit/2:
				size = max(size/2, groupLeast)
			case share < w.spec.Limit/10:
				size = min(2*size, groupMost)
			}
			loads = append(loads, found...)
		}
	}
	w.guard.set(w, loads, choose(loads, w.spec.Limit), 0)
	for range mostRounds {
		loads, share := w.try(w.kept(), surveyAll, time.Duration(w.spec.Limit*float64(surveyAll)))
		if !w.guard.set(w, loads, choose(loads, w.spec.Limit*faster(share)), 0) || share <= w.spec.Limit {
			break
		}
	}
}

// surveyed are functions of an object that are looked at.
type surveyed struct {
	path    string
	entries []perfevent.CallPlace
}

// kept returns the functions that are to have probes.
func (w *Watch) kept() (all []surveyed) {
	for i := range w.texts {
		s := surveyed{path: w.texts[i].path()}
		for _, p := range w.texts[i].entries {
			if w.Coverage(w.numbered[p.Function]).Level != Off {
				s.entries = append(s.entries, p)
			}
		}
		all = append(all, s)
	}
	return all
}

// try puts probes at the entries of functions, for a while or until they have taken so much of the target. It returns what the probes of each function
// would take, and what those at the entries took together.
func (w *Watch) try(group []surveyed, window, most time.Duration) (loads []load, share float64) {
	before := map[int]perfevent.CallHits{}
	for i := range group {
		defer w.kernel.Survey(group[i].path, group[i].entries)()
		for _, p := range group[i].entries {
			before[p.Function] = w.kernel.Hits(p.Function)
		}
	}
	from := time.Now()
	for spent := time.Duration(0); spent < most && time.Since(from) < window; {
		time.Sleep(surveyLook)
		spent = 0
		for function, h := range before {
			spent += w.spec.Cost.Of(w.kernel.Hits(function).Since(h))
		}
	}
	length := time.Since(from).Seconds()
	for function, h := range before {
		h = w.kernel.Hits(function).Since(h)
		rate := float64(h.Emulated+h.Stepped) / length
		counted, more := w.numbered[function].callCost(w.spec.Cost)
		loads = append(loads, load{number: function, counted: rate * counted.Seconds(), timed: rate * (counted + more).Seconds(), rate: rate})
		share += rate * counted.Seconds()
	}
	return loads, share
}

// faster returns how much less a function may take of a target while other functions slow it by a share of its time: half, as things change, and of that
// what is left, because a thread that does nothing else gets as much faster as it was slowed.
func faster(share float64) float64 { return (1 - min(share, .9)) / 2 }
