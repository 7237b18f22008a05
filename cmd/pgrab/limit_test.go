package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// TestHitLimit: with -n so many hits have lines. Then a process of -p is let go, and a command runs on without breakpoints.
func TestHitLimit(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "hits.c"), "-t", "3", "-p", "2000")
	g.Ready()
	r := pgrab(t, nil, "-s", "none", "-n", "5", "-b", "hot", "-p", strconv.Itoa(g.PID))
	if n := strings.Count(r.stdout, " hit hot+0 "); n != 5 || r.status != 0 || !strings.Contains(r.stdout, "released, running\n") {
		t.Errorf("-p: %d hits shown", n)
	}
	expectFree(t, g, "RS")

	r = pgrab(t, nil, "-s", "none", "-n", "3", "-w", "-q", "-b", "f_push", "--", ptest.BuildC(t, "calls.c"), "-f", "push", "-n", "20")
	counted := regexp.MustCompile(`(?m)^ *\d+ +(\d+) +\S+ +f_push$`).FindStringSubmatch(r.stdout)
	if n := strings.Count(r.stdout, "    #0 "); n != 3 || r.status != 0 || counted == nil || !strings.Contains(r.stdout, "done ") {
		t.Fatalf("command: %d stacks shown", n)
	}
	if n, _ := strconv.Atoi(counted[1]); n < 3 { // the command may have come there again meanwhile
		t.Errorf("command: %d hits counted", n)
	}
	for _, args := range []string{"-n 5 -p 1", "-n -1 -b f -p 1"} {
		if r := pgrab(t, nil, strings.Fields(args)...); r.status != 2 {
			t.Errorf("%s: %d, %s", args, r.status, r.stderr)
		}
	}
}

// TestFlood: that there are many hits is said once, when there have been more than a thousand within a second.
func TestFlood(t *testing.T) {
	for _, tt := range []struct {
		every time.Duration
		want  string
	}{{time.Millisecond, "[1001]"}, {2 * time.Millisecond, "[]"}, {time.Microsecond, "[1001]"}} {
		var f flood
		said := []int64{}
		now := time.Unix(1, 0)
		for range 5000 {
			if n, news := f.hit(now); news {
				said = append(said, n)
			}
			now = now.Add(tt.every)
		}
		if fmt.Sprint(said) != tt.want || f.total != 5000 {
			t.Errorf("a hit every %v: said at %d, want %s; %d hits", tt.every, said, tt.want, f.total)
		}
	}
}
