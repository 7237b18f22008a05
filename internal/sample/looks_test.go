package sample

import (
	"math"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"ptools/internal/procfs"
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
		if !(math.Abs(got[i]-want[i]) <= bound) {
			t.Errorf("%s: share %.1f %%, truth %.1f %%\n%s", f, 100*got[i], 100*want[i], folded(t, s, profile.CPU))
		}
	}
	if n := truth.EINTR(); n > 0 {
		t.Errorf("%d calls returned EINTR", n)
	}
}

// TestLooksAtRealTime: a thread from which no processor can be taken is stopped where it runs, and its time does not go to
// what other threads do.
func TestLooksAtRealTime(t *testing.T) {
	ptest.Need(t, "chrt")
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "mixthreads.c"))
	g.Ready()
	left := 0
	g.WaitFor("the thread", func() bool {
		for _, tid := range g.Threads() {
			if name, err := procfs.ReadComm(g.PID, tid); err == nil && name == "left" {
				left = tid
			}
		}
		return left != 0
	})
	if out, err := exec.Command("chrt", "-f", "-p", "1", strconv.Itoa(left)).CombinedOutput(); err != nil {
		t.Skipf("no real-time scheduling here: %v, %s", err, out)
	}
	before := schedstatOf(t, g.PID, left)
	s := sampleBy(t, TimersOff, int64(ptest.Rounds(1500, 2000, 10_000)), time.Second/499, nil, attach(t, g.PID, nil))
	used := float64(schedstatOf(t, g.PID, left).Run - before.Run)
	got := 0.0
	for _, f := range []string{"alpha", "beta", "gamma_"} {
		got += within(t, s, profile.CPU, "left", f)
	}
	t.Logf("%.2f s where it is used, of %.2f s", got/1e9, used/1e9)
	if got < 0.7*used || got > 1.1*used {
		t.Errorf("%.2f s of the thread are where they are used, of %.2f s\n%s", got/1e9, used/1e9, folded(t, s, profile.CPU))
	}
}
