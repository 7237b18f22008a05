package sample

import (
	"context"
	"testing"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/source"
)

// startLeaps starts two programs that execute each other. They have different functions at one address.
func startLeaps(t *testing.T) *ptest.Target {
	t.Helper()
	needTimers(t)
	fixed := []string{"-O1", "-no-pie", "-Wl,--section-start=.fixed=0x500000"}
	leap, other := ptest.BuildC(t, "testdata/leap.c", append(fixed, "-DLEAP")...), ptest.BuildC(t, "testdata/leap.c", fixed...)
	g := ptest.Start(t, leap, other, leap)
	g.Ready()
	return g
}

// checkLeaps: what execve(2) does once the new program is mapped is [exec], and not the function of the new program at the address
// of the call. The first image may be opened after an exec whose record is still to be read, so a few ticks are left.
func checkLeaps(t *testing.T, p *profile.Profile) {
	t.Helper()
	of := make(map[string]int64)
	for _, f := range p.Functions(&profile.Options{}) {
		of[f.Name] += f.Self.CPU
	}
	for _, name := range []string{"spin", "leap", "[exec]"} {
		if of[name] == 0 {
			t.Errorf("%s has no processor time", name)
		}
	}
	if of["innocent"] > of["[exec]"]/4 {
		t.Errorf("%v in a function that never runs, %v in [exec]", time.Duration(of["innocent"]), time.Duration(of["[exec]"]))
	}
	if t.Failed() {
		t.Log(of, p.Total())
	}
}

const leapTime = 700 * time.Millisecond

// TestLeaps: ticks during execve(2) are those of no program.
func TestLeaps(t *testing.T) {
	t.Parallel()
	g := startLeaps(t)
	done := make(chan struct{})
	defer close(done)
	src := source.Watch(g.PID, done, openFiles(t), false)
	begun, _ := source.ProcessorTime(g.PID)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := New([]*source.Process{src}, &Options{
		Period: tick, Ticks: wanting(t, TimersOnly, tick, src),
		Progress: func(*Progress) {
			if now, _ := source.ProcessorTime(g.PID); now-begun > leapTime {
				cancel()
			}
		},
	})
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	checkLeaps(t, s.Profile())
}

// TestLeapsOfTrees is TestLeaps for a process of a tree.
func TestLeapsOfTrees(t *testing.T) {
	t.Parallel()
	g := startLeaps(t)
	s := followed(t, perfevent.FollowAuto, g, func() {
		go func() { spend(g, leapTime); g.Kill() }()
	})
	checkLeaps(t, s.Profile())
}

// TestLeapsOfWindows is TestLeaps for a window.
func TestLeapsOfWindows(t *testing.T) {
	t.Parallel()
	g := startLeaps(t)
	w := openWindows(t, WindowsOptions{Period: tick})
	n := begin(t, w, g.PID)
	spend(g, leapTime)
	p, err := n.End()
	if err != nil {
		t.Fatal(err)
	}
	checkLeaps(t, p)
}

// spend waits until a target has used a processor for a while.
func spend(g *ptest.Target, d time.Duration) {
	begun, _ := source.ProcessorTime(g.PID)
	for now := begun; now-begun < d; now, _ = source.ProcessorTime(g.PID) {
		time.Sleep(time.Millisecond)
	}
}
