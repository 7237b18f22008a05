package sample

import (
	"math"
	"runtime"
	"testing"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/profile"
	"ptools/internal/ptest"
)

// startCodes starts the program that runs 32-bit code in a 64-bit process.
func startCodes(t *testing.T) *ptest.Target {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is one of x86-64")
	}
	g := ptest.StartWith(t, &ptest.Options{Truth: ptest.NewTruth(t)}, ptest.BuildC(t, "codes.c", "-no-pie"))
	g.Ready()
	return g
}

// checkCodes compares the shares of the processor time with what the program says. Code whose address is not known is
// shown as such.
func checkCodes(t *testing.T, s *Sampler, g *ptest.Target, before [3]float64) {
	t.Helper()
	spent := codesSpent(g)
	all := 0.0
	for i := range spent {
		spent[i] -= before[i]
		all += spent[i]
	}
	n := float64(max(s.Cost().Ticks, 1))
	for i, name := range []string{"wide", "narrow", "[unknown]"} {
		want, got := spent[i]/all, share(t, s, profile.CPU, name)
		if off := math.Abs(got - want); off > 0.05+5*math.Sqrt(want*(1-want)/n) {
			t.Errorf("%s has %.1f %% of the processor time, not %.1f %%", name, 100*got, 100*want)
		}
	}
	if t.Failed() {
		t.Logf("%d samples\n%s", s.Cost().Ticks, folded(t, s, profile.CPU))
	}
}

// codesSpent returns the processor time that the program has spent in each code.
func codesSpent(g *ptest.Target) (spent [3]float64) {
	for i := range spent {
		spent[i] = float64(g.Truth.Share(i))
	}
	return spent
}

// TestCodes: the time in 32-bit code of a 64-bit process is shown there, and the other code has its own.
func TestCodes(t *testing.T) { bothAtOnce(t, testCodes) }

func testCodes(t *testing.T, use UseTimers) {
	g := startCodes(t)
	c := attach(t, g.PID, nil)
	before := codesSpent(g)
	checkCodes(t, sampleBy(t, use, int64(ptest.Rounds(500, 1500, 5000)), time.Second/499, nil, c), g, before)
}

// TestFollowCodes is TestCodes for a process of a tree.
func TestFollowCodes(t *testing.T) {
	t.Parallel()
	g := startCodes(t)
	before := codesSpent(g)
	s := followed(t, perfevent.FollowAuto, g, func() {
		time.AfterFunc(time.Duration(ptest.Rounds(1000, 2000, 5000))*time.Millisecond, g.Kill)
	})
	checkCodes(t, s, g, before)
}
