package sample

import (
	"fmt"
	"math"
	"testing"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptest"
)

// TestInStep: a program that works in step with the sampler is seen in all its phases. The moments of the timers and of
// looks are random, whether they meet the program or not.
func TestInStep(t *testing.T) {
	const rate = 999
	rounds := int64(ptest.Rounds(400, 1000, 10_000))
	for _, c := range []struct {
		name          string
		of, in        int64 // the program has that many periods in that many of the timers
		part          int   // each phase is that many thousandths of a period
		way, threads  int
		driftOfPeriod time.Duration
	}{
		{"timerfd", 1, 1, 75, 0, 1, 0},
		{"two periods in three", 2, 3, 100, 1, 1, 0},
		{"drifting", 1, 1, 75, 1, 1, 200},
		{"antiphase", 1, 2, 75, 1, 2, 0},
		{"always busy", 1, 1, 250, 4, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, use UseTimers) {
				period := time.Second / rate * time.Duration(c.in) / time.Duration(c.of)
				truth := ptest.NewTruth(t)
				g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "instep.c"),
					"-u", fmt.Sprint(period.Microseconds()), "-d", fmt.Sprint((period%time.Microsecond + c.driftOfPeriod).Nanoseconds()),
					"-a", fmt.Sprint(c.part), "-b", fmt.Sprint(c.part), "-w", fmt.Sprint(c.way), "-t", fmt.Sprint(c.threads))
				g.Ready()
				g.AwaitWork(10)
				before := [2]uint64{truth.Share(0), truth.Share(1)}
				s := sampleBy(t, use, rounds, time.Second/rate, nil, attach(t, g.PID, nil))
				want := float64(truth.Share(0)-before[0]) / float64(truth.Share(0)-before[0]+truth.Share(1)-before[1])
				a, b := within(t, s, profile.CPU, "", "phase_a"), within(t, s, profile.CPU, "", "phase_b")
				met := float64(s.Cost().Ticks) * (a + b) / float64(s.Profile().CPU) // samples that meet one of the two
				unseen, all := within(t, s, profile.CPU, "", "[not sampled]"), float64(s.Profile().CPU)
				if use == TimersOff && met == 0 && unseen > all/2 {
					t.Log("no look met it, which is said")
					return
				}
				got, bound := a/(a+b), 5*math.Sqrt(want*(1-want)/met)
				if use == TimersOff {
					bound += spoiled
				}
				t.Logf("phase_a %.1f %%, truth %.1f %% (bound %.1f)", 100*got, 100*want, 100*bound)
				if !(math.Abs(got-want) < bound) {
					t.Errorf("phase_a has %.1f %% of the two, truth %.1f %%", 100*got, 100*want)
				}
				if unseen > all*(0.1+2/met) {
					t.Errorf("%.1f %% not sampled", 100*unseen/all)
				}
			})
		})
	}
}
