package sample

import (
	"fmt"
	"math"
	"slices"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptrace"
)

// Without timers the processor time of a thread is divided among the places where stops have
// met it running. The moments of the rounds are random, so they do not depend on what the
// thread does.
//
// A stop comes some 10 to 50 us after it was asked for. A thread that has gone to sleep by then
// was on a processor at the drawn moment, but its place then is not seen. The sighting is
// counted as lost, and the thread is never shown as running where it sleeps. So the beginning
// of each burst of work is missing. It is as long as the end of the burst in which a stop comes
// too late. The processor time of lost sightings goes to the sightings in the youngest part of
// a burst, in which they would have been made: from one latency after its beginning to two.
//
// The kernel shows how old a burst is at a stop. At the drawn moment schedstat has what the
// thread had used up to the beginning of the burst, because it is updated at switches (and
// at scheduler ticks, which only longer bursts see). When the thread has stopped, schedstat
// has what it has used in all.

// A sighting is what a stop has shown of where a thread runs.
type sighting uint8

const (
	noSighting sighting = iota // it was not on a processor at the moment that was drawn
	metRunning                 // it was on a processor, where the stop has found it
	metAsleep                  // it was on a processor, but has gone to sleep before the stop came
)

// wakeRun bounds how long a thread runs from its waking to the end of the system call in which it has
// slept.
const wakeRun = 30 * time.Microsecond

// sightingOf returns the sighting of a stop. burst is the time that the thread has used since it was last
// put on a processor before the drawn moment. switched says whether it has been put on one since.
func sightingOf(regs *ptrace.Regs, burst time.Duration, switched bool) sighting {
	_, result, inCall := regs.SyscallReturn()
	switch {
	case inCall && ptrace.InterruptedResult(result):
		return metAsleep
	case inCall && switched && burst < wakeRun:
		return noSighting // it had been woken, and waited for a processor
	case inCall && switched:
		return metAsleep // it was woken again before the stop came, which takes long on a processor that sleeps
	}
	return metRunning
}

// met is one sighting of a thread that ran.
type met struct {
	cell  profile.Cell
	burst time.Duration
}

// estimate collects the sightings of a thread.
type estimate struct {
	met    []met
	lost   int    // sightings that came too late
	from   uint64 // thread.used when the collection began
	slices uint64 // thread's count of being put on a processor, at the same time
	stops  uint64 // of it since then
}

// estimateAfter is the number of sightings after which the processor time is divided.
const estimateAfter = 256

// see adds the sighting of a round.
func (s *spending) see(t *thread) {
	e := &t.guess
	e.stops++
	switch t.turn.sighting {
	case metAsleep:
		e.lost++
	case metRunning:
		s.p.account.add(t, profile.Values{}) // it has a cell now
		e.met = append(e.met, met{t.view.cell, t.turn.burst})
	}
	t.turn.sighting = noSighting
	if len(e.met) >= estimateAfter {
		s.divide(t)
	}
}

// divide divides the processor time that a thread has used since the last time among its sightings.
// If there are none it waits for the next.
func (s *spending) divide(t *thread) {
	e := &t.guess
	total := int64(t.usage.used - e.from)
	if len(e.met) == 0 || total <= 0 {
		return
	}
	weights, sum := e.weights(time.Duration(total), t.usage.now.Slices-e.slices-min(e.stops, t.usage.now.Slices-e.slices)), 0.0
	for _, w := range weights {
		sum += w
	}
	given, until := int64(0), 0.0
	for i, m := range e.met {
		until += weights[i]
		share := int64(float64(total)*(until/sum)) - given
		if i == len(e.met)-1 {
			share = total - given
		}
		s.p.space.Add(m.cell, profile.Values{CPU: share})
		given += share
	}
	*e = estimate{met: e.met[:0], from: t.usage.used, slices: t.usage.now.Slices}
}

// weights returns the weight of each sighting. Each weighs one. Those in the youngest part of a burst also share
// equally in the lost ones, up to another one each unless there are too few. total and bursts are the processor time
// and the number of bursts of all sightings.
func (e *estimate) weights(total time.Duration, bursts uint64) []float64 {
	w := make([]float64, len(e.met))
	for i := range w {
		w[i] = 1
	}
	if e.lost == 0 {
		return w
	}
	young := e.latency(total, bursts) * 2
	order := make([]int, len(e.met))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(e.met[a].burst - e.met[b].burst) })
	// At least as many sightings share the lost ones as were lost, so that few do not count for many.
	n := min(e.lost, len(order))
	for n < len(order) && e.met[order[n]].burst < young {
		n++
	}
	for _, i := range order[:n] {
		w[i] += float64(e.lost) / float64(n)
	}
	return w
}

// latency estimates how long a stop takes to arrive, from the share of stops that come too
// late. That is the share of the bursts' time that is within one latency of their ends. The
// result is no longer than half of the longest burst.
func (e *estimate) latency(total time.Duration, bursts uint64) time.Duration {
	longest := time.Duration(0)
	for _, m := range e.met {
		longest = max(longest, m.burst)
	}
	if bursts == 0 {
		return longest / 2
	}
	lost := float64(e.lost) / float64(e.lost+len(e.met))
	return min(time.Duration(lost*float64(total)/float64(bursts)), longest/2)
}

// byChance says how far a share may be off by chance alone if n stops have found it: 19 times in 20 a share of a half is not
// further off.
func byChance(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (by chance alone a share of 50 %% is 50 ± %.0f)", min(math.Ceil(98/math.Sqrt(float64(n))), 50))
}
