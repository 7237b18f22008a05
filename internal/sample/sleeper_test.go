package sample

import (
	"context"
	"math"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/source"
)

// TestSharesOfASleeper: the processor time of a thread that sleeps half of the time is counted where it is used, and
// not where the thread is found.
func TestSharesOfASleeper(t *testing.T) { bothAtOnce(t, testSleeper) }

func testSleeper(t *testing.T, use UseTimers) {
	g := ptest.Start(t, ptest.BuildC(t, "testdata/sleeper.c"))
	g.Ready()
	c := attach(t, g.PID, nil)
	begun, before := time.Now(), schedstat(t, g.PID)
	s := sampleBy(t, use, int64(ptest.Rounds(700, 2000, 10_000)), time.Second/499, nil, c)
	took, after := time.Since(begun), schedstat(t, g.PID)
	often, seldom := share(t, s, profile.CPU, "often"), share(t, s, profile.CPU, "seldom")
	t.Logf("often %.1f %%, seldom %.1f %% of %v, by %s", 100*often, 100*seldom, s.Profile().CPU, s.Profile().Means)
	n := float64(max(s.Cost().Ticks, 1)) // a busy machine leaves few that meet it
	if often+seldom < 0.85-3*math.Sqrt(0.1/n) {
		t.Errorf("%.1f %% of the processor time is where the thread works\n%s", 100*(often+seldom), folded(t, s, profile.CPU))
	}
	if ratio := often / (often + seldom); math.Abs(ratio-2./3) > max(0.115, 5*math.Sqrt(2./9/n)) {
		t.Errorf("the first function has %.1f %%, not two thirds\n%s", 100*ratio, folded(t, s, profile.CPU))
	}
	// The time in which it neither ran nor waited for a processor it slept. After it was woken it also waits for a
	// processor in that call.
	run, wait := float64(after.Run-before.Run)/float64(took), float64(after.Wait-before.Wait)/float64(took)
	if sleeping := share(t, s, profile.Wall, "[clock_nanosleep]"); sleeping < 1-run-wait-0.1 || sleeping > 1-run+0.1 {
		t.Errorf("%.1f %% of the wall time is spent sleeping; the kernel says %.1f %% running, %.1f %% waiting for a processor", 100*sleeping, 100*run, 100*wait)
	}
}

// TestTracedAlready: with timers a process that has a tracer can be sampled, and no thread is stopped.
func TestTracedAlready(t *testing.T) {
	t.Parallel()
	needTimers(t)
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"))
	g.Ready()
	attach(t, g.PID, nil) // the other tracer
	done := make(chan struct{})
	src := source.Watch(g.PID, done, openFiles(t), false)
	s := New([]*source.Process{src}, &Options{
		Period: time.Second / 499, For: time.Duration(ptest.Rounds(400, 1000, 1000)) * time.Millisecond, Ticks: wanting(t, TimersOnly, time.Second/499, src),
	})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := share(t, s, profile.CPU, "mix_round"); got < 0.9 || s.Cost().Stops > 0 {
		t.Errorf("%.1f %% of the time is where it is used, %d stops\n%s", 100*got, s.Cost().Stops, folded(t, s, profile.CPU))
	}
}

// schedstat returns how long a process's first thread has run and has waited for a processor.
func schedstat(t *testing.T, pid int) procfs.SchedStat { return schedstatOf(t, pid, pid) }

func schedstatOf(t *testing.T, pid, tid int) procfs.SchedStat {
	t.Helper()
	st, err := procfs.ReadTaskSchedStat(pid, tid)
	if err != nil {
		t.Fatal(err)
	}
	return st
}
