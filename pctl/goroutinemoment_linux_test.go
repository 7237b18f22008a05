package pctl

import (
	"slices"
	"testing"

	"ptools/internal/ptest"
)

// TestGoroutinesOfMoment: in a Pause goroutines that run have a stack, which is theirs; there are at most as many of them as threads.
// One whose thread is in the scheduler, just about to leave it or to begin with it, has none. Without a pause none has one.
func TestGoroutinesOfMoment(t *testing.T) {
	target := startGoroutines(t, ptest.BuildGo(t, "goroutines.go"), "-n", "5", "-spins", "2")
	p := grab(t, session(t, nil), target.PID, nil)
	defer p.Close()
	seen, between, threads := 0, 0, 0
	for range 20 {
		var all []*Goroutine
		if err := p.Pause(bg, func(s *Snapshot) (err error) {
			threads = len(s.Threads())
			all, err = s.Goroutines(bg)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		running := 0
		for _, g := range all {
			if g.State != "running" {
				continue
			}
			running++
			frames, err := g.Stack()
			var names []string
			for _, f := range frames {
				names = append(names, f.Func)
			}
			if start := g.Begins()[0].Func; start == "main.spin" && len(names) == 0 {
				between++
			} else if start == "main.spin" {
				if err != nil || g.Thread == 0 {
					t.Errorf("goroutine %d on thread %d: %v", g.ID, g.Thread, err)
				}
				if n := len(names); n < 4 || !slices.Equal(names[n-4:], []string{"main.spinInner", "main.spinOuter", "main.spin", "runtime.goexit"}) {
					t.Errorf("goroutine %d: %q", g.ID, names)
				}
				seen++
			}
		}
		if running > threads {
			t.Errorf("%d goroutines run on %d threads", running, threads)
		}
	}
	if seen == 0 || between > 1+seen/8 {
		t.Errorf("%d stacks of goroutines that ran in a pause, %d had none", seen, between)
	}
	for g, err := range p.Goroutines(bg) {
		if err != nil {
			t.Fatal(err)
		}
		if frames, _ := g.Stack(); g.State == "running" && frames != nil {
			t.Errorf("goroutine %d runs, and has a stack without a pause", g.ID)
		}
	}
	if err := p.Pause(bg, func(s *Snapshot) error {
		s.stopped = nil
		_, err := s.Goroutines(bg)
		return err
	}); err == nil {
		t.Error("goroutines of a moment that is over")
	}
}
