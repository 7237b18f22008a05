package sample

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptrace"
)

// TestEstimate: a thread runs two functions for different times, with sleeps in between. Late stops never meet the
// beginning of a burst, and lose its end. The weights restore most of that.
func TestEstimate(t *testing.T) {
	for _, c := range []struct {
		runs    [2]time.Duration
		latency time.Duration
		most    float64 // points
	}{
		{[2]time.Duration{50 * time.Microsecond, 130 * time.Microsecond}, 20 * time.Microsecond, 4},
		{[2]time.Duration{50 * time.Microsecond, 130 * time.Microsecond}, 30 * time.Microsecond, 8},
		{[2]time.Duration{time.Millisecond, 2500 * time.Microsecond}, 30 * time.Microsecond, 2},
		{[2]time.Duration{time.Millisecond, 2500 * time.Microsecond}, 200 * time.Microsecond, 3},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		var e estimate
		whole := c.runs[0] + c.runs[1]
		const sightings = 20_000
		for range sightings { // moments at which the thread runs
			at, which := time.Duration(r.Int64N(int64(whole))), 0
			if at >= c.runs[0] {
				at, which = at-c.runs[0], 1
			}
			if at += c.latency; at >= c.runs[which] {
				e.lost++
			} else {
				e.met = append(e.met, met{profile.Cell(which), at})
			}
		}
		total := time.Duration(sightings) * time.Millisecond
		var sum [2]float64
		for i, w := range e.weights(total, uint64(2*total/whole)) {
			sum[e.met[i].cell] += w
		}
		got, want := 100*sum[0]/(sum[0]+sum[1]), 100*float64(c.runs[0])/float64(whole)
		t.Logf("runs of %v, stops after %v: %.1f %%, truth %.1f %%, %d of %d lost", c.runs, c.latency, got, want, e.lost, sightings)
		if math.Abs(got-want) > c.most {
			t.Errorf("runs of %v, stops after %v: %.1f %%, truth %.1f %%", c.runs, c.latency, got, want)
		}
	}
}

// TestFewDoNotCountForMany: lost sightings are not all given to a single one.
func TestFewDoNotCountForMany(t *testing.T) {
	e := estimate{lost: 50}
	for i := range 100 {
		e.met = append(e.met, met{burst: time.Duration(i) * time.Millisecond})
	}
	for i, w := range e.weights(time.Second, 10_000) {
		if w > 2 {
			t.Errorf("sighting %d counts for %v", i, w)
		}
	}
}

// TestSightings: what a stop shows of where a thread was at the drawn moment.
func TestSightings(t *testing.T) {
	for _, c := range []struct {
		nr, result int64
		burst      time.Duration
		switched   bool
		want       sighting
	}{
		{-1, 0, 50 * time.Microsecond, false, metRunning},
		{-1, 0, 50 * time.Microsecond, true, metRunning},     // it was preempted
		{1, 4096, 50 * time.Microsecond, false, metRunning},  // it worked in a call
		{230, -516, 50 * time.Microsecond, true, metAsleep},  // the stop has cut its sleep
		{202, -512, 50 * time.Microsecond, false, metAsleep}, // the same, before it was switched
		{230, 0, 5 * time.Microsecond, true, noSighting},     // it had been woken and waited for a processor
		{230, 0, 80 * time.Microsecond, true, metAsleep},     // it ran, slept and woke before the stop came
	} {
		var regs ptrace.Regs
		setRegister(&regs, "OrigRax", uint64(c.nr))
		setRegister(&regs, "Rax", uint64(c.result))
		if _, _, ok := regs.SyscallReturn(); ok != (c.nr >= 0) {
			t.Skip("no registers on this processor")
		}
		if got := sightingOf(&regs, c.burst, c.switched); got != c.want {
			t.Errorf("call %d, result %d, after %v, switched %v: %v, want %v", c.nr, c.result, c.burst, c.switched, got, c.want)
		}
	}
}

// TestByChance: the bound is that of a binomial share, and no number is shown for no stops.
func TestByChance(t *testing.T) {
	for n, want := range map[int64]string{
		0: "", 1: " (by chance alone a share of 50 % is 50 ± 50)", 26: " (by chance alone a share of 50 % is 50 ± 20)",
		100: " (by chance alone a share of 50 % is 50 ± 10)", 1_000_000: " (by chance alone a share of 50 % is 50 ± 1)",
	} {
		if got := byChance(n); got != want {
			t.Errorf("%d stops: %q, want %q", n, got, want)
		}
	}
}
