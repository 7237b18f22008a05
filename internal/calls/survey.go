package calls

import (
	"slices"
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

// A survey finds out how often functions are called.
type survey struct {
	watch    *Watch
	standing []standing      // the probes that are there
	expected map[int]float64 // what timing each function would take, in processors
}

// standing are probes at entries of functions of an object.
type standing struct {
	entries []perfevent.CallPlace
	lift    func()
}

// choose chooses the levels of all functions. Probes of those that are not called often are left standing: to make others there changes no text.
func (s *survey) choose() {
	w := s.watch
	var loads []load
	size := groupFirst
	for i := range w.texts {
		for rest := w.texts[i].entries; len(rest) > 0; {
			group := s.put(w.texts[i].path(), rest[:min(size, len(rest))])
			rest = rest[len(group.entries):]
			found, share := s.look([]standing{group}, surveyEach, surveySpent)
			switch {
			case share > w.spec.Limit/2:
				size = max(size/2, groupLeast)
			case share < w.spec.Limit/10:
				size = min(2*size, groupMost)
			}
			if share > w.spec.Limit/10 {
				group.lift()
			} else {
				s.standing = append(s.standing, group)
			}
			s.expect(found)
			loads = append(loads, found...)
		}
	}
	w.guard.set(w, loads, choose(loads, w.spec.Limit), 0)
	for range mostRounds {
		s.complete()
		loads, share := s.look(s.standing, surveyAll, time.Duration(w.spec.Limit*float64(surveyAll)))
		s.expect(loads)
		limit := w.spec.Limit
		if timed(loads) > limit {
			limit *= faster(share)
		}
		changed := w.guard.set(w, loads, choose(loads, limit), 0)
		s.standing = slices.DeleteFunc(s.standing, s.liftHot)
		if !changed || share <= w.spec.Limit {
			break
		}
	}
}

// timed returns what timing all of some functions takes.
func timed(loads []load) (share float64) {
	for _, l := range loads {
		share += l.timed
	}
	return share
}

// expect notes what functions would take. The first looks are short, and the target may have waited for a processor.
func (s *survey) expect(loads []load) {
	for _, l := range loads {
		s.expected[l.number] = max(s.expected[l.number], l.timed)
	}
}

// put makes probes.
func (s *survey) put(path string, entries []perfevent.CallPlace) standing {
	return standing{entries, s.watch.kernel.Survey(path, entries)}
}

// off reports whether a function is to have no probe.
func (s *survey) off(p perfevent.CallPlace) bool {
	return s.watch.Coverage(s.watch.numbered[p.Function]).Level >= Windowed
}

// liftHot lifts probes, and reports that, if a function among theirs is to have none.
func (s *survey) liftHot(g standing) bool {
	hot := slices.ContainsFunc(g.entries, s.off)
	if hot {
		g.lift()
	}
	return hot
}

// complete puts probes at all functions that are to have one and have none.
func (s *survey) complete() {
	there := map[int]bool{}
	for _, g := range s.standing {
		for _, p := range g.entries {
			there[p.Function] = true
		}
	}
	for i := range s.watch.texts {
		missing := slices.DeleteFunc(slices.Clone(s.watch.texts[i].entries), func(p perfevent.CallPlace) bool { return there[p.Function] || s.off(p) })
		if len(missing) > 0 {
			s.standing = append(s.standing, s.put(s.watch.texts[i].path(), missing))
		}
	}
}

// end lifts the probes, without waiting for that.
func (s *survey) end() {
	for _, share := range s.expected {
		s.watch.guard.expected += share
	}
	for _, g := range s.standing {
		g.lift()
	}
}

// look counts the hits of probes for a while, or until they have taken so much of the target. It returns what the probes of each function would take,
// and what these took together.
func (s *survey) look(groups []standing, window, most time.Duration) (loads []load, share float64) {
	before := map[int]perfevent.CallHits{}
	for _, g := range groups {
		for _, p := range g.entries {
			before[p.Function] = s.watch.kernel.Hits(p.Function)
		}
	}
	from := time.Now()
	for spent := time.Duration(0); spent < most && time.Since(from) < window; {
		time.Sleep(surveyLook)
		spent = 0
		for function, h := range before {
			spent += s.watch.spec.Cost.Of(s.watch.kernel.Hits(function).Since(h))
		}
	}
	length := time.Since(from).Seconds()
	for function, h := range before {
		h = s.watch.kernel.Hits(function).Since(h)
		rate := float64(h.Emulated+h.Stepped) / length
		counted, more := s.watch.callCost(s.watch.numbered[function])
		loads = append(loads, load{number: function, counted: rate * counted.Seconds(), timed: rate * (counted + more).Seconds(), rate: rate})
		share += rate * counted.Seconds()
	}
	return loads, share
}

// faster returns how much less functions may take of a target while others take a share of its time, which are lifted then. It is half, as things
// change, and less the more the target was slowed: its threads get faster. Not all that they do does, so it is not less than a quarter.
func faster(share float64) float64 { return (1 - min(share, .5)) / 2 }
