package ptest

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// alone is a target that ends by itself, and what it must then print last.
type alone struct {
	src  string
	args string
	last string // regular expression
}

var alones = []alone{
	{"spin.c", "-n 1000 -t 3", `done 3000`},
	{"mix.c", "-n 10 -t 2", `done \d+`},
	{"mixthreads.c", "-n 10", `done \d+`},
	{"busyidle.c", "-n 100 -t 20", `done 200`},
	{"threadstorm.c", "-n 200 -t 3", `done 179700`},
	{"forkstorm.c", "-n 12 -t 3", `done 36`},
	{"vforkstorm.c", "-n 12 -t 3", `done 36`},
	{"spawnstorm.c", "-n 8 -t 3", `done 24`},
	{"spawnstorm.c", "-s -n 8 -t 3", `done 24`},
	{"spawnstorm.c", "-o -n 8 -t 3", `done 24`},
	{"clonevm.c", "-n 40 -t 3", `done 240`},
	{"execstorm.c", "-n 20", `done 20`},
	{"execstorm.c", "-n 20 -t 3 -T", `done 20`},
}

// Every target ends by itself after -n rounds, with the checksum and status that it should have.
func TestAlone(t *testing.T) {
	for _, c := range alones {
		t.Run(c.src+" "+c.args, func(t *testing.T) {
			t.Parallel()
			g := StartWith(t, &Options{Truth: NewTruth(t)}, append([]string{BuildC(t, c.src)}, strings.Fields(c.args)...)...)
			g.Ready()
			out := g.Output()
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if ok, _ := regexp.MatchString("^"+c.last+"$", lines[len(lines)-1]); !ok {
				t.Errorf("printed %q, want %s at the end", out, c.last)
			}
			if state := g.Wait(); !state.Success() {
				t.Error(state)
			}
			if n := g.Truth.Errors() + g.Truth.EINTR(); n != 0 {
				t.Errorf("%d errors, %d EINTRs", g.Truth.Errors(), g.Truth.EINTR())
			}
		})
	}
}

// Every target runs until its standard input ends, doing work, and then ends well.
func TestUntilEOF(t *testing.T) {
	for _, c := range alones {
		args := regexp.MustCompile(`-n \d+`).ReplaceAllString(c.args, "")
		t.Run(c.src+" "+args, func(t *testing.T) {
			t.Parallel()
			g := StartWith(t, &Options{Truth: NewTruth(t)}, append([]string{BuildC(t, c.src)}, strings.Fields(args)...)...)
			g.Ready()
			g.AwaitWork(2)
			out, state := g.Finish()
			if !strings.Contains(out, "done ") || !state.Success() {
				t.Errorf("printed %q, %v", out, state)
			}
		})
	}
}

// The mix keeps its shares, by the kernel's accounts.
func TestMixShares(t *testing.T) {
	g := StartWith(t, &Options{Truth: NewTruth(t)}, BuildC(t, "mix.c"), "-n", "500")
	g.Ready()
	g.Wait()
	var total uint64
	for i := range 3 {
		total += g.Truth.Share(i)
	}
	for i, want := range []float64{50, 30, 20} {
		if got := 100 * float64(g.Truth.Share(i)) / float64(total); got < want-5 || got > want+5 {
			t.Errorf("share %d is %s %%, want %v", i, strconv.FormatFloat(got, 'f', 1, 64), want)
		}
	}
}

// Idle threads are there and do nothing.
func TestIdle(t *testing.T) {
	g := StartWith(t, &Options{Truth: NewTruth(t)}, BuildC(t, "idle.c"), "-t", "1000")
	g.Ready()
	if n := len(g.Threads()); n != 1001 {
		t.Errorf("%d threads", n)
	}
	if out, state := g.Finish(); out != "done 1000\n" || !state.Success() {
		t.Errorf("printed %q, %v", out, state)
	}
}
