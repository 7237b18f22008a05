package pctl_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl"
)

// stacksOf returns the threads of a process with their stacks, by number.
func stacksOf(t *testing.T, g *ptest.Target) []*pctl.Thread {
	t.Helper()
	ctx := context.Background()
	s := pctl.NewSession(nil)
	t.Cleanup(func() { s.Close() })
	p, err := s.Grab(ctx, g.PID, nil)
	if err != nil {
		t.Fatal(err)
	}
	var threads []*pctl.Thread
	if err := p.Pause(ctx, func(s *pctl.Snapshot) error {
		s.CopyStacks()
		threads = s.Threads()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(threads, func(a, b *pctl.Thread) int { return a.TID - b.TID })
	return threads
}

// TestWaits: what each kind of thread waits for, and which thread has it.
func TestWaits(t *testing.T) {
	musl := map[string]string{
		"normal": "mutex .*normal mutex of musl", "adaptive": "mutex .*normal mutex of musl", "hidden": "mutex .*normal mutex of musl",
		"again": "mutex .*normal mutex of musl", "reading": "read-write lock .*of musl", "writing": "read-write lock .*of musl",
		"reader": "read-write lock .*of musl", "thread": "the end of|futex", "condition": "condition variable|futex",
		"inheriting": `^mutex .*\(inheriting\+4 in .*\) held by tid`,
	}
	for _, build := range []struct {
		name   string
		path   func() string
		differ map[string]string
	}{
		{"glibc", func() string { return ptest.BuildC(t, "waits.c") }, nil},
		{"static", func() string { return ptest.BuildC(t, "waits.c", "-static") }, nil},
		{"musl", func() string { return ptest.BuildMusl(t, "waits.c") }, musl},
	} {
		t.Run(build.name, func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, build.path())
			g.Ready()
			threads := stacksOf(t, g)
			byName := map[string]int{}
			for _, th := range threads {
				byName[th.Name()] = th.TID
			}
			held := fmt.Sprintf(` held by tid %d \(waits\)$`, g.PID)
			want := map[string]string{
				"normal": `^mutex 0x\w+ \(normal in waits.*\)` + held, "recursive": `^mutex 0x\w+ \(recursive in .*\)` + held,
				"checking": `^mutex .*\(checking in .*\)` + held, "adaptive": `^mutex .*\(adaptive in .*\)` + held,
				"robust": `^mutex .*\(robust in .*\)` + held, "inheriting": `^mutex .*\(inheriting in .*\)` + held,
				"hidden": `^mutex .*\(hidden in .*\)` + held, "again": `^mutex .*\(again in .*\)` + held,
				"reading": `^read-write lock .*\(reading in .*\)` + held, "writing": `^read-write lock .*\(writing in .*\)` + held,
				"reader":    `^read-write lock .*\(reader in .*\) held by 1 to read$`,
				"semaphore": `^semaphore .*\(semaphore in .*\), owner unknown \(a semaphore keeps none\)$`,
				"barrier":   `^barrier .*, owner unknown \(a barrier keeps none\)$`,
				"condition": `^condition variable 0x\w+ \(condition in waits.*\), owner unknown \(a condition variable keeps none\)$`,
				"thread":    fmt.Sprintf(`^the end of tid %d \(semaphore\)$`, byName["semaphore"]),
				"pipe":      `^fd \d+ \(pipe:\[\d+\]\), written by pid \d+ \(writer\)$`,
				"child":     `^child \d+ \(writer\)$`,
				"stream":    `^fd \d+ \(socket:\[\d+\]\), unix, peer pid \d+ \(writer\)$`,
				"client":    `^fd \d+ \(socket:\[\d+\]\), tcp 127.0.0.1:\d+ to 127.0.0.1:\d+, peer pid \d+ \(writer\)$`,
				"accept":    `^fd \d+ \(socket:\[\d+\]\), tcp 127.0.0.1:\d+, listening$`,
				"events":    `^events, for 1h0m0s at most$`,
			}
			waits := pctl.Waits(threads)
			for name, pattern := range want {
				if other, ok := build.differ[name]; ok {
					pattern = other
				}
				w, ok := waits[byName[name]]
				if got := w.String(); !ok || !regexp.MustCompile(pattern).MatchString(got) {
					t.Errorf("%s waits for %q, want %s", name, got, pattern)
				}
			}
			if c := pctl.Deadlocks(waits); len(c) != 0 {
				t.Errorf("deadlocks: %v", c)
			}
		})
	}
}

// TestDeadlocks: threads that wait for each other are found, whatever other threads wait for.
func TestDeadlocks(t *testing.T) {
	for _, n := range []int{2, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "waits.c"), "deadlock", fmt.Sprint(n))
			g.Ready()
			waits := pctl.Waits(stacksOf(t, g))
			cycles := pctl.Deadlocks(waits)
			if len(cycles) != 1 || len(cycles[0]) != n {
				t.Fatalf("%v of %v", cycles, waits)
			}
			for i, tid := range cycles[0] {
				next := cycles[0][(i+1)%n]
				if w := waits[tid]; w.Lock.Owner != next || !strings.HasPrefix(w.Lock.Symbol, "ring") || w.Lock.Process != g.PID {
					t.Errorf("tid %d waits for %+v, want that of %d", tid, w.Lock, next)
				}
			}
		})
	}
}
