package pctl

import (
	"errors"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestInt3AfterSomebodysUprobe sets an int3 where another tracer's uprobe still is, which the
// kernel is removing from the text. The int3 is refused until the uprobe is gone.
func TestInt3AfterSomebodysUprobe(t *testing.T) {
	uprobe.Need(t)
	g, _ := startOwnCalls(t)
	ours, other := session(t, nil), session(t, nil)
	for range ptest.Rounds(3, 10, 100) {
		before := grab(t, other, g.PID, &GrabOptions{Trap: TrapUprobe})
		if _, err := before.Break(bg, Where{Symbol: "f_push"}, nil); err != nil {
			t.Fatal(err)
		}
		closed := make(chan error)
		go func() { closed <- before.Close() }()
		p, err := ours.Grab(bg, g.PID, &GrabOptions{Trap: TrapInt3})
		for errors.Is(err, ErrTraced) {
			p, err = ours.Grab(bg, g.PID, &GrabOptions{Trap: TrapInt3})
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.Break(bg, Where{Symbol: "f_push"}, func(*Hit) {})
		for errors.Is(err, ErrForeignTrap) {
			b, err = p.Break(bg, Where{Symbol: "f_push"}, func(*Hit) {})
		}
		if err != nil {
			t.Fatal(err)
		}
		g.WaitFor("hits", func() bool { return b.Hits() > 10 })
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		ptest.TextIntact(t, g.PID)
		g.AwaitWork(1)
	}
}

// startOwnCalls is startCalls with a file in which no other test has uprobes. At a place with
// a uprobe the kernel takes any int3 for its own, in every process.
func startOwnCalls(t *testing.T) (*ptest.Target, *ptest.Truth) {
	t.Helper()
	own := ptest.Copy(t, ptest.BuildC(t, "calls.c"))
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, own, "-t", "2", "-f", "push")
	g.Ready()
	return g, truth
}
