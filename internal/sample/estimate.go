package sample

import (
	"slices"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptrace"
)

// Without timers the processor time of a thread is divided among the places where stops have
// met it running. The moments of the rounds are drawn, so they depend on nothing that it does.
//
// A stop comes some 10 to 50 us after it was asked for. A thread that has gone to sleep by
// then was on a processor at the moment that was drawn, but where is not seen. It is counted as
// lost, and never shown as running where it sleeps. What is so lost is the beginning of each
// burst of work: as much as the end of it, in which the stop comes too late. So the processor
// time of the lost sightings goes to those that were met in the youngest part of a burst, in
// which they would have been met: from one latency after its beginning to two.
//
// How old a burst is at a stop the kernel tells: schedstat says at the drawn moment what the
// thread had used up to the beginning of the burst, because it is brought up to date at
// switches (and at scheduler ticks, which only longer bursts see), and what it has used in
// all when it stands.

// A sighting is what a stop has told of where a thread runs.
type sighting uint8

const (
	noSighting sighting = iota // it was not on a processor at the moment that was drawn
	metRunning                 // it was where the stop has found it
	metAsleep                  // it was, but has gone to sleep before the stop came
)

// wakeRun is what a thread runs, at most, from its waking to the end of the system call in which it has
// slept.
const wakeRun = 30 * time.Microsecond

// sightingOf says what a stop of a running thread has told. burst is what the thread has used since it was
// last put on a processor before the drawn moment, switched whether it has been put on one since.
func sightingOf(regs *ptrace.Regs, burst time.Duration, switched bool) sighting {
	_, result, inCall := regs.SyscallReturn()
	switch {
	case inCall && ptrace.InterruptedResult(result):
		return metAsleep
	case inCall && switched && burst < wakeRun:
		return noSighting // it had been woken, and waited for a processor
	case inCall && switched:
		return metAsleep // and was woken before the stop came, which takes long on a processor that sleeps
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
	slices uint64 // the same of how often it was put on a processor
	stops  uint64 // of it since then
}

// estimateAfter is after how many sightings the processor time is divided.
const estimateAfter = 256

// see adds what a round has seen of a thread.
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
// Without any it waits for the next.
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

// weights returns what each sighting counts for: one, and those in the youngest part of a burst
// an equal part of what was lost, up to another one each unless there are too few. total and bursts are the processor
// time and the number of bursts in which all this was seen.
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
	// At least as many share what was lost as were lost: few must not count for many.
	n := min(e.lost, len(order))
	for n < len(order) && e.met[order[n]].burst < young {
		n++
	}
	for _, i := range order[:n] {
		w[i] += float64(e.lost) / float64(n)
	}
	return w
}

// latency returns how long a stop takes to arrive, by how many come too late: as many of all
// as of the time that the bursts take is within one latency of their ends. It is no longer than
// half of the longest burst.
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
