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

// victims are processes on which pgrab is killed, with the functions that they call
// all the time.
var victims = []struct {
	name   string
	start  func(*testing.T) *ptest.Target
	breaks []string
	ends   bool // by itself; others work until the end of their input
}{
	{"1 thread", calls("1"), []string{"f_push"}, false},
	{"16 threads", calls("16"), []string{"f_push"}, false},
	{"1000 functions", func(t *testing.T) *ptest.Target {
		uprobe.NeedLinks(t)
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "thousand.c", "-fno-omit-frame-pointer"), "-i")
		g.Ready()
		return g
	}, []string{"a.out`many_*"}, false},
	{"100 a second", func(t *testing.T) *ptest.Target {
		g := ptest.StartHelper(t, "ticks")
		g.Ready()
		return g
	}, []string{"ptools/cmd/pgrab.tick"}, false},
	{"threads", briefly("threadstorm.c -t 4", 4000), []string{"pthread_create", "write"}, true},
	{"fork", briefly("forkstorm.c -t 3", 300), []string{"fork", "_exit", "write"}, true},
	{"vfork", briefly("vforkstorm.c -t 3", 300), []string{"vfork", "_exit", "execve"}, true},
	{"exec", briefly("execstorm.c -t 2", 200), []string{"main", "execv", "write"}, true},
}

func calls(threads string) func(*testing.T) *ptest.Target {
	return func(t *testing.T) *ptest.Target {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "calls.c"), "-t", threads, "-f", "push")
		g.Ready()
		return g
	}
}

func program(src string, args ...string) func(*testing.T) *ptest.Target {
	return func(t *testing.T) *ptest.Target {
		return ptest.StartWith(t, &ptest.Options{Foreign: true}, append([]string{ptest.BuildC(t, src)}, args...)...)
	}
}

// briefly is a storm of n rounds, of fewer with -short: there one kill comes early.
func briefly(storm string, n int) func(*testing.T) *ptest.Target {
	return func(t *testing.T) *ptest.Target {
		argv := append(strings.Fields(storm), "-n", strconv.Itoa(ptest.Rounds(n/3, n, n)))
		return program(argv[0], argv[1:]...)(t)
	}
}

//go:noinline
func tick(n int) int { return n + 1 }

var _ = ptest.Helper("ticks", func() {
	ptest.Ready()
	over := make(chan struct{})
	go func() {
		ptest.AwaitEOF()
		close(over)
	}()
	every := time.NewTicker(10 * time.Millisecond)
	for n := 0; ; n = tick(n) {
		select {
		case <-every.C:
		case <-over:
			fmt.Println("ticked")
			return
		}
	}
})

// TestKilled: with uprobes a process survives the SIGKILL of pgrab at whatever moment it
// comes, and is then as if pgrab had never been there.
func TestKilled(t *testing.T) {
	uprobe.Need(t)
	for _, v := range victims {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			random := ptest.Rand(t)
			want := ""
			if v.ends {
				out, state := v.start(t).Finish()
				if !state.Success() {
					t.Fatalf("alone: %v, %s", state, out)
				}
				want = out
			}
			kills := ptest.Rounds(1, 6, 150)
			for done := 0; done < kills; {
				g := v.start(t)
				before := dispositionsOf(g.PID)
				for ; done < kills && living(g) > 0; done++ {
					killAt(t, random, g, v.breaks)
					g.WaitFor("its own text", func() bool { return !ptest.HasTraps(g.PID) })
					ptest.TextIntact(t, g.PID)
				}
				if now := dispositionsOf(g.PID); !v.ends && now != before {
					t.Errorf("signals are %q, were %q", now, before)
				}
				if out, state := g.Finish(); !state.Success() || v.ends && out != want {
					t.Fatalf("after %d kills: %v, printed\n%swant\n%s", done, state, out, want)
				}
			}
			t.Logf("%d kills survived of %d", kills, kills)
		})
	}
}

// killAt kills a pgrab while it attaches, plants, reports hits, holds, or lets go.
func killAt(t *testing.T, random *rand.Rand, g *ptest.Target, breaks []string) {
	t.Helper()
	args := []string{"--trap", "uprobe", "-q", "-p", strconv.Itoa(g.PID)}
	for _, b := range breaks {
		args = append(args, "-b", b)
	}
	after := time.Duration(random.Int64N(int64(300 * time.Millisecond)))
	switch random.IntN(4) {
	case 0: // only counts
		args = append(args, "-s", "none")
	case 1: // stops at each hit
		args = append(args, "-s", "none", "-w")
	case 2: // lets go at about that time
		args = append(args, "-s", "none", "-w", "-t", after.String())
	case 3: // holds it, and lets it run
		args = append(args, "-s", "grab", "-w", "-H", (after / 2).String())
	}
	p := startPgrab(t, args...)
	ptest.Await(time.Now().Add(after)) // the test is that it comes at any moment
	p.Kill()
	p.Finish()
}
