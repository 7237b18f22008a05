package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestKilledHot: a process survives the SIGKILL of pgrab while its threads hit a breakpoint all the time. pgrab has
// reported hits by then, and has chosen the trap itself.
func TestKilledHot(t *testing.T) {
	uprobe.Need(t)
	for _, threads := range []string{"1", "4"} {
		t.Run(threads+" threads", func(t *testing.T) {
			t.Parallel()
			random := ptest.Rand(t)
			program := publicCopy(t, ptest.BuildC(t, "calls.c")) // a file of its own: other tests have uprobes too
			kills := ptest.Rounds(3, 5, 20)
			for done := range kills {
				g := ptest.StartWith(t, &ptest.Options{Foreign: true}, program, "-t", threads, "-f", "push")
				g.Ready()
				before := dispositionsOf(g.PID)
				killHot(t, random, g)
				g.WaitFor("its own text", func() bool { return !ptest.HasTraps(g.PID) })
				ptest.TextIntact(t, g.PID)
				if now := dispositionsOf(g.PID); now != before {
					t.Errorf("signals are %q, were %q", now, before)
				}
				if out, state := g.Finish(); !state.Success() {
					t.Fatalf("after %d kills: %v, printed\n%s", done, state, out)
				}
			}
			t.Logf("fact: SIGKILL of pgrab at a hot breakpoint, %s threads: %d of %d targets survive", threads, kills, kills)
		})
	}
}

// killHot kills a pgrab that has reported hits of f_push, at any moment of the next few hits.
func killHot(t *testing.T, random *rand.Rand, g *ptest.Target) {
	t.Helper()
	p := startPgrab(t, "-q", "-s", "none", "-w", "-b", "f_push", "-p", strconv.Itoa(g.PID))
	for hits := 0; hits < 3; {
		if strings.Contains(p.Line(), "f_push") {
			hits++
		}
	}
	ptest.Await(time.Now().Add(time.Duration(random.Int64N(int64(20 * time.Millisecond))))) // any moment will do
	p.Kill()
	p.Finish()
}

// TestCountsAsCalled: pgrab counts the calls that the program itself counts, whether or not threads stop at them.
func TestCountsAsCalled(t *testing.T) {
	uprobe.Need(t)
	const calls = 4000
	program := ptest.BuildC(t, "calls.c")
	for _, how := range []struct{ name, flag string }{{"counts", "-q"}, {"stops", "-w"}} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			r := pgrab(t, nil, "--trap", "uprobe", "-s", "none", how.flag, "-b", "f_push", "--", program, "-t", "4", "-n", strconv.Itoa(calls))
			want := fmt.Sprintf("calls %d\n", calls)
			if r.status != 0 || !strings.Contains(r.stdout, want) {
				t.Fatalf("status %d", r.status)
			}
			n := countOf(r.stdout+r.stderr, "f_push")
			if n != calls {
				t.Errorf("%d hits of %d calls", n, calls)
			}
			t.Logf("fact: hits of a uprobe, pgrab %s: %d of %d", how.name, n, calls)
		})
	}
}

// countOf returns the hits in the last row of pgrab's table of breakpoints that is about one of them.
func countOf(table, breakpoint string) (hits int) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) == 4 && f[3] == breakpoint {
			hits, _ = strconv.Atoi(f[1])
		}
	}
	return hits
}
