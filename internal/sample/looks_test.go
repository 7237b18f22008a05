package sample

import (
	"math"
	"os/exec"
	"testing"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptest"
)

// TestLooksAtPingPong: a thread that sleeps and wakes many times between two samples, and makes a call each ten
// microseconds, has its processor time where the kernel counts it, with timers and without, and none of its calls returns
// EINTR.
func TestLooksAtPingPong(t *testing.T) { bothWays(t, pingPong) }

func pingPong(t *testing.T, use UseTimers) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "pingpong.c"))
	g.Ready()
	g.AwaitWork(10)
	var before, want, got [3]float64
	for i := range before {
		before[i] = float64(truth.Share(i))
	}
	s := sampleBy(t, use, int64(ptest.Rounds(700, 2000, 10_000)), time.Second/499, nil, attach(t, g.PID, nil))
	for i := range want {
		want[i] = float64(truth.Share(i)) - before[i]
	}
	if s.looks == nil && use == TimersOff {
		t.Skip("this kernel does not show when threads ran")
	}
	for i, f := range []string{"receive", "serve", "answer"} {
		got[i] = within(t, s, profile.CPU, "server", f)
	}
	sum := got[0] + got[1] + got[2]
	normalize(&want)
	normalize(&got)
	// Looks see the client too. What they do to the processors changes a little what the two threads do.
	n := float64(s.Cost().Ticks) * sum / float64(s.Profile().CPU)
	for i, f := range []string{"receive", "serve", "answer"} {
		bound := 4*math.Sqrt(want[i]*(1-want[i])/n) + 0.08
		t.Logf("%s: share %.1f %%, truth %.1f %% (bound %.1f, %d sights)", f, 100*got[i], 100*want[i], 100*bound, s.Cost().Ticks)
		if math.Abs(got[i]-want[i]) > bound {
			t.Errorf("%s: share %.1f %%, truth %.1f %%\n%s", f, 100*got[i], 100*want[i], folded(t, s, profile.CPU))
		}
	}
	if n := truth.EINTR(); n > 0 {
		t.Errorf("%d calls returned EINTR", n)
	}
}

// TestLooksAtRealTime: a thread from which no processor can be taken is stopped where it runs.
func TestLooksAtRealTime(t *testing.T) {
	ptest.Need(t, "chrt")
	if out, err := exec.Command("chrt", "-f", "1", "true").CombinedOutput(); err != nil {
		t.Skipf("no real-time scheduling here: %v, %s", err, out)
	}
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, "chrt", "-f", "1", ptest.BuildC(t, "mix.c"))
	g.Ready()
	s := sampleBy(t, TimersOff, int64(ptest.Rounds(1000, 2000, 10_000)), time.Second/499, nil, attach(t, g.PID, nil))
	if got := share(t, s, profile.CPU, "mix_round"); got < 0.8 {
		t.Errorf("%.1f %% of the time is where it is used\n%s", 100*got, folded(t, s, profile.CPU))
	}
}
