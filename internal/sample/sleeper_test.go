package sample

import (
	"context"
	"testing"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptest"
)

// TestSharesOfASleeper: the processor time of a thread that sleeps half of the time is where it is used, and not where
// the thread is found.
func TestSharesOfASleeper(t *testing.T) { bothWays(t, testSleeper) }

func testSleeper(t *testing.T, use UseTimers) {
	g := ptest.Start(t, ptest.BuildC(t, "testdata/sleeper.c"))
	g.Ready()
	s := sampleBy(t, use, int64(ptest.Rounds(1000, 2000, 10_000)), time.Second/499, nil, attach(t, g.PID, nil))
	often, seldom := share(t, s, profile.CPU, "often"), share(t, s, profile.CPU, "seldom")
	t.Logf("often %.1f %%, seldom %.1f %% of %v, by %s", 100*often, 100*seldom, s.Profile().CPU, s.Profile().Means)
	if often+seldom < 0.85 {
		t.Errorf("%.1f %% of the processor time is where the thread works\n%s", 100*(often+seldom), folded(t, s, profile.CPU))
	}
	if ratio := often / (often + seldom); ratio < 0.55 || ratio > 0.78 {
		t.Errorf("the first function has %.1f %%, not two thirds\n%s", 100*ratio, folded(t, s, profile.CPU))
	}
	if waiting := share(t, s, profile.Wall, "[clock_nanosleep]"); waiting < 0.2 {
		t.Errorf("%.1f %% of the wall time is spent sleeping", 100*waiting)
	}
}

// TestTracedBySomebodyElse: with timers a process is sampled that has a tracer, and stopped by nobody.
func TestTracedBySomebodyElse(t *testing.T) {
	needTimers(t)
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"))
	g.Ready()
	attach(t, g.PID, nil) // the other tracer
	done := make(chan struct{})
	source := Watch(g.PID, done, openFiles(t), false)
	s := New([]*Source{source}, &Options{
		Period: time.Second / 499, For: time.Second, Ticks: wanting(t, TimersOnly, time.Second/499, source),
	})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := share(t, s, profile.CPU, "mix_round"); got < 0.9 || s.Cost().Stops > 0 {
		t.Errorf("%.1f %% of the time is where it is used, %d stops\n%s", 100*got, s.Cost().Stops, folded(t, s, profile.CPU))
	}
}
