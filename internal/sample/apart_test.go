package sample

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/internal/source"
)

// TestTimerSlack: the interrupt of one thread's timer also wakes a thread whose timer is due and may be late.
// By chance that would happen at nine of 300 wake-ups of the other.
func TestTimerSlack(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "slack.c"), "-n", "300")
	out, state := g.Finish()
	var together int
	if _, err := fmt.Sscanf(out[strings.Index(out, "done"):], "done %d", &together); err != nil || !state.Success() {
		t.Fatalf("%v, %q", state, out)
	}
	if together < 24 {
		t.Errorf("woke together %d times of 300", together)
	}
}

// TestApart: a look has a moment of its own if a thread has slept and woken since the round before, and none
// otherwise.
func TestApart(t *testing.T) {
	w := newWorld(4)
	s := New([]*source.Process{w.source()}, &Options{Period: 10 * time.Millisecond})
	s.sched.random = func(n int64) int64 { return n - 1 }
	p := s.processes[0]
	if err := p.begin(0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	l := &p.looking
	l.maybe = append(l.maybe, p.roster.threads...)
	for _, th := range l.maybe {
		th.blocked.sched = th.usage.now
	}
	if d := l.apart(); d != 0 {
		t.Errorf("threads that sleep: %v", d)
	}
	l.maybe[3].usage.now.Slices++
	if d := l.apart(); d != 0 {
		t.Errorf("a thread that has woken once: %v", d)
	}
	l.maybe[3].usage.now.Slices++
	if d, want := l.apart(), longestApart-1; d != want {
		t.Errorf("a thread that wakes often: %v, want %v", d, want)
	}
	s.opt.Period = time.Millisecond
	if d, want := l.apart(), time.Millisecond/8-1; d != want {
		t.Errorf("at 1000 Hz: %v, want %v", d, want)
	}
}
