package pctl_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl"
)

// TestStopThread: a thread that is stopped by itself is stepped and shows its stack, the others work on, and it runs on
// when its Process is closed.
func TestStopThread(t *testing.T) {
	ctx := context.Background()
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth, Foreign: true}, ptest.BuildC(t, "spin.c", "-fno-omit-frame-pointer"))
	g.Ready()
	for truth.Work() == 0 { // a thread that has just been made is still in clone
	}
	s := pctl.NewSession(nil)
	defer s.Close()
	p, err := s.Grab(ctx, g.PID, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	tids, err := p.Threads()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(tids)
	busy := tids[len(tids)-1]
	stopped, at, err := p.StopThread(ctx, busy)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.StopThread(ctx, busy); !errors.Is(err, pctl.ErrStopped) {
		t.Errorf("stopped twice: %v", err)
	}
	for last := at.Registers.PC(); ; {
		next, err := stopped.Step(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if next.TID != busy {
			t.Fatalf("thread %d", next.TID)
		}
		if next.Registers.PC() == last {
			continue
		}
		// The innermost function may be one of the vdso, not all of which have names.
		if frames, err := next.Stack(); err != nil || !slices.ContainsFunc(frames, func(f pctl.Frame) bool { return f.Func == "spin" }) {
			t.Errorf("%v: %v", frames, err)
		}
		break
	}
	work := truth.Work()
	if err := stopped.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if err := stopped.Run(ctx); err != nil {
		t.Errorf("run again: %v", err)
	}
	if _, err := stopped.Step(ctx); !errors.Is(err, pctl.ErrRuns) {
		t.Errorf("step of one that runs: %v", err)
	}
	for truth.Work() == work {
	}
	for _, tid := range tids { // all, one by one, and Close lets them run
		if _, _, err := p.StopThread(ctx, tid); err != nil {
			t.Fatal(err)
		}
	}
	g.StandsStill()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	g.AwaitWork(1)
}
