package sample

import (
	"time"

	"ptools/internal/profile"
)

// The timeline of a tree. Processes that are looked at get their spans from rounds. The others get them here: a tick
// stands for one period before it, and the first thread is [not sampled] in the rest of the life of its process.
// Records have times of CLOCK_MONOTONIC; spans count from the start of the sampling.

// during counts v for a thread of the process, from one time to another.
func (k *kin) during(tid int, stack profile.StackID, v profile.Values, from, to time.Duration, ran bool) {
	t := k.tree
	t.space.AddDuring(t.space.Cell(k.threadID(tid), stack), v, max(from-t.start, 0), max(to-t.start, 0), ran)
}

// tick counts a tick, which met a thread at a time.
func (k *kin) tick(tid int, stack profile.StackID, v profile.Values, at time.Duration) {
	from := max(at-time.Duration(v.CPU), k.born)
	if tid == k.pid {
		from = max(from, k.drawn)
		k.skip(from)
		k.drawn = max(k.drawn, at)
	}
	k.during(tid, stack, v, from, at, true)
}

// skip says that what the first thread did until a time was not sampled.
func (k *kin) skip(until time.Duration) {
	if from := max(k.drawn, k.born); until > from && k.tree.sampler.profile.Timeline {
		k.during(k.pid, k.tree.space.Push(0, k.tree.sampler.unsampled()), profile.Values{}, from, until, false)
		k.drawn = until
	}
}

// monotonic returns the CLOCK_MONOTONIC of a time of the sampler's clock.
func (t *tree) monotonic(now time.Duration) time.Duration {
	return t.start + now - t.sampler.sched.start
}
