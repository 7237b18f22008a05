package control

import (
	"maps"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// slicesOf returns how often each thread of a process but the leader has been given a processor.
func slicesOf(t *testing.T, g *ptest.Target) map[int]uint64 {
	t.Helper()
	m := make(map[int]uint64)
	for _, tid := range g.Threads() {
		if tid == g.PID {
			continue
		}
		s, err := procfs.ReadTaskSchedStat(g.PID, tid)
		if err != nil {
			t.Fatal(err)
		}
		m[tid] = s.Slices
	}
	return m
}

// TestStarved: a look at threads that are given no processor does not last longer than it may, and the threads
// are detached without having run. The kernel gives them a processor now and then, so one visit of several that
// shows this is enough.
func TestStarved(t *testing.T) {
	const visits, threads = 10, 4
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "starved.c"), "-t", "4", "-o", "6")
	g.Ready()
	missed, same := 0, 0
	for range visits {
		before, seen := slicesOf(t, g), 0
		c := attach(t, g.PID, nil)
		until := time.Now().Add(50 * time.Millisecond)
		over := func() bool { return time.Now().After(until) }
		n, err := c.LookIf(bg, c.Threads(), nil, over, func(int, *ptrace.Regs) { seen++ })
		if err != nil || n+seen != 1+threads {
			t.Errorf("%d threads seen, %d missed, %v", seen, n, err)
		}
		release(t, c, ModeRun)
		after := slicesOf(t, g)
		maps.DeleteFunc(after, func(tid int, slices uint64) bool { return slices != before[tid] })
		missed, same = missed+n, same+len(after)
		if n > 0 && len(after) > 0 {
			break
		}
	}
	if missed == 0 || same == 0 {
		t.Errorf("%d threads missed, %d let go without having run", missed, same)
	}
	g.Stdin.Close()
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("ended with %v: %s", state, out)
	}
}
