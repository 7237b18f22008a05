package calls

import (
	"math"
	"time"

	"ptools/internal/perfevent"
)

// Stats are the calls of a function.
type Stats = perfevent.CallStats

// Quantile returns the duration of the call that a share q of the ended calls, that one included, did not exceed. It is the longest call where
// that is the one, and else within an eighth of the true duration: within a class of durations calls count as evenly spread.
func Quantile(s *Stats, q float64) time.Duration {
	all := uint64(0)
	for _, n := range s.Buckets {
		all += n
	}
	if all == 0 {
		return 0
	}
	rank := math.Ceil(q * float64(all))
	if rank >= float64(all) {
		return s.Max
	}
	before := 0.0
	for i, n := range s.Buckets {
		if n == 0 || before+float64(n) < rank {
			before += float64(n)
			continue
		}
		low := perfevent.BucketStart(i)
		high := s.Max
		if i+1 < len(s.Buckets) {
			high = min(high, perfevent.BucketStart(i+1))
		}
		share := (rank - before) / float64(n)
		return min(low+time.Duration(share*float64(high-low)), s.Max)
	}
	return s.Max
}

// Since returns what was added to statistics since they were old. The maximum is that of the class of the longest call that was
// added.
func Since(s, old *Stats) Stats {
	d := *s
	d.Calls, d.Returned, d.Tails = s.Calls-old.Calls, s.Returned-old.Returned, s.Tails-old.Tails
	d.Amount = s.Amount.Less(&old.Amount)
	d.Left, d.Untimed, d.Unseen, d.Sum = s.Left-old.Left, s.Untimed-old.Untimed, s.Unseen-old.Unseen, s.Sum-old.Sum
	longest := 0
	for i := range d.Buckets {
		if d.Buckets[i] -= old.Buckets[i]; d.Buckets[i] > 0 {
			longest = i
		}
	}
	if s.Max == old.Max && longest+1 < len(d.Buckets) {
		d.Max = min(s.Max, perfevent.BucketStart(longest+1))
	}
	return d
}

// Merge adds calls to statistics.
func Merge(s, o *Stats) {
	s.Calls, s.Returned, s.Tails = s.Calls+o.Calls, s.Returned+o.Returned, s.Tails+o.Tails
	s.Left, s.Untimed, s.Unseen, s.Sum = s.Left+o.Left, s.Untimed+o.Untimed, s.Unseen+o.Unseen, s.Sum+o.Sum
	s.Max = max(s.Max, o.Max)
	for i := range s.Buckets {
		s.Buckets[i] += o.Buckets[i]
	}
	s.Amount.Add(&o.Amount)
}

// rest returns what statistics have beside a part of them. The part may have more, of calls that ended when the whole had been read.
func rest(whole, part *Stats) Stats {
	less := func(a, b uint64) uint64 { return a - min(a, b) }
	r := Stats{
		Calls: less(whole.Calls, part.Calls), Returned: less(whole.Returned, part.Returned), Tails: less(whole.Tails, part.Tails),
		Left: whole.Left, Untimed: whole.Untimed, Unseen: whole.Unseen, Sum: max(0, whole.Sum-part.Sum),
	}
	for i := range whole.Buckets {
		if r.Buckets[i] = less(whole.Buckets[i], part.Buckets[i]); r.Buckets[i] > 0 && i+1 < len(whole.Buckets) {
			r.Max = perfevent.BucketStart(i + 1)
		}
	}
	if r.Max > whole.Max || whole.Max > part.Max {
		r.Max = whole.Max
	}
	if r.Returned == 0 {
		r.Sum, r.Max = 0, 0
	}
	if whole.Amount.Calls > part.Amount.Calls {
		r.Amount = whole.Amount.Less(&part.Amount)
	}
	return r
}

// A Class is the calls whose durations are in a class.
type Class struct {
	Least time.Duration // of the class, which ends where the next one begins
	Calls uint64
}

// Histogram returns the classes that have calls, the shortest first. Each power of two of nanoseconds has four classes.
func Histogram(s *Stats) (classes []Class) {
	for i, n := range s.Buckets {
		if n > 0 {
			classes = append(classes, Class{perfevent.BucketStart(i), n})
		}
	}
	return classes
}
