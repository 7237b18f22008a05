package calls

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestBecomesHot: a function that is called all the time from some moment on loses its probes. Another one is counted and timed to the end.
func TestBecomesHot(t *testing.T) {
	uprobe.NeedLinks(t)
	target := ptest.Start(t, ptest.BuildC(t, "testdata/busy.c"), "later")
	target.Ready()
	w := watchSpec(t, target.PID, "a.out", Spec{Limit: .2, Cost: Cost{Emulated: time.Microsecond, Stepped: 10 * time.Microsecond}}, "hot", "cold")
	if changed, err := w.Changed(); len(changed) > 0 || err != nil {
		t.Fatalf("before it is hot: %v, %v", changed, err)
	}
	w.Begin()
	read := func(name string) (s Stats, c Coverage) {
		for i := range w.Targets {
			if w.Targets[i].Name == name {
				w.Read(i, &s)
				c = w.Coverage(&w.Targets[i])
			}
		}
		return s, c
	}
	target.WaitFor("calls", func() bool { s, _ := read("cold"); return s.Returned > 3 })
	fmt.Fprintln(target.Stdin)
	target.WaitFor("hot to have no probe", func() bool { _, c := read("hot"); return c.Level == Windowed })
	hot, coverage := read("hot")
	if hot.Calls == 0 || coverage.Timed == 0 || coverage.Counted < coverage.Timed || coverage.Rate < 1000 {
		t.Errorf("hot: %d calls, %+v", hot.Calls, coverage)
	}
	if changed, err := w.Changed(); len(changed) == 0 || changed[0].Name != "hot" || err != nil {
		t.Errorf("changed: %v, %v", changed, err)
	}
	cold, coverage := read("cold")
	if coverage.Level != Timed || cold.Left > 0 || cold.Calls > cold.Returned+1 {
		t.Errorf("cold: %+v, %d calls, %d returned", coverage, cold.Calls, cold.Returned)
	}
	target.WaitFor("more calls", func() bool { s, _ := read("cold"); return s.Returned > cold.Returned+20 })
	w.End()
	w.Close()
	ptest.TextIntact(t, target.PID)
	target.Kill()
}

// TestPlantedAnew: calls are counted once while probes are replaced, and their ends are seen. One call may be missed each time: that which begins in the very
// moment of the change.
func TestPlantedAnew(t *testing.T) {
	uprobe.NeedLinks(t)
	w := start(t, ptest.BuildC(t, "testdata/endings.cc", "-O2"), "plain", "thrower", "catcher", "jumper", "deep", "tail", "yielder")
	old := w.work(16)
	w.Begin()
	var made atomic.Uint64
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { // ends when stop is closed; done says so
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			made.Add(1)
			if err := w.guard.replant(w.Watch); err != nil {
				done <- err
				return
			}
		}
	}()
	now := w.work(ptest.Rounds(64, 128, 20_000))
	for made.Load() < 2 && len(done) == 0 { // on a busy machine
		now = w.work(8)
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	turns := made.Load()
	w.End()
	missed := uint64(0)
	for i := range w.Targets {
		var s Stats
		name := w.Targets[i].Raw
		if !w.Read(i, &s) {
			t.Fatalf("%s: %v", name, w.Targets[i].Err)
		}
		called, returned := now[name][0]-old[name][0], now[name][1]-old[name][1]
		if s.Calls > called || s.Returned > returned || called-s.Calls > turns || returned-s.Returned > called-s.Calls {
			t.Errorf("%s: counted %d calls, %d returned; the target %d and %d; %d times anew", name, s.Calls, s.Returned, called, returned, turns)
		}
		missed += called - s.Calls
	}
	t.Logf("%d calls missed; probes were made anew %d times", missed, turns)
	if missed > turns {
		t.Errorf("%d missed, %d times anew", missed, turns)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	ptest.TextIntact(t, w.PID)
	w.work(16)
	w.lives()
}
