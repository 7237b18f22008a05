package main

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// a seen is what the table says of a function.
type seen struct {
	Function   string
	Calls      uint64
	Returned   *uint64
	TimedFor   *int64   `json:"timed_ns"`
	CountedFor *int64   `json:"counted_ns"`
	Rate       *float64 `json:"calls_per_second"`
}

// busy runs pcalls for all functions of a program that calls one of them all the time, and returns what it has seen of that and of the other.
func busy(t *testing.T, target *ptest.Target, args ...string) (hot, cold seen, errs string) {
	t.Helper()
	var out, line strings.Builder
	args = append([]string{"--json", "-p", strconv.Itoa(target.PID), "-t", "0.4"}, append(args, "a.out`hot", "a.out`cold")...)
	if code := run(context.Background(), args, &out, &line); code != 0 {
		t.Fatalf("status %d: %s", code, line.String())
	}
	for text := range strings.Lines(out.String()) {
		var s seen
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if s.Function == "hot" {
			hot = s
		} else {
			cold = s
		}
	}
	t.Logf("%+v\n%+v\n%s", hot, cold, line.String())
	return hot, cold, line.String()
}

// TestTooOften: a function that is called all the time is not timed, or only now and then, without --force. The line says so, and the other is timed.
func TestTooOften(t *testing.T) {
	uprobe.NeedLinks(t)
	if ptest.Slow() > 1 {
		t.Skip("where a hit takes a millisecond the probes of the function that is seldom called take too much as well")
	}
	target := ptest.Start(t, ptest.BuildC(t, "../../internal/calls/testdata/busy.c"))
	target.Ready()
	hot, cold, errs := busy(t, target)
	if hot.Rate == nil || *hot.Rate < 1000 || hot.TimedFor == nil || *hot.TimedFor == 0 || hot.Returned == nil || *hot.Returned < 10 || *hot.Returned > hot.Calls {
		t.Errorf("hot: %+v", hot)
	}
	if cold.Rate != nil || cold.Returned == nil || *cold.Returned < 5 {
		t.Errorf("cold: %+v", cold)
	}
	if !strings.Contains(errs, "hot, >") || !strings.Contains(errs, "--force") || strings.Contains(errs, "cold") {
		t.Errorf("said %q", errs)
	}
	if hot, _, errs = busy(t, target, "--force"); hot.Rate != nil || hot.Returned == nil || *hot.Returned < 100 {
		t.Errorf("forced: %+v, %s", hot, errs)
	}
	ptest.TextIntact(t, target.PID)
	target.Kill()
}
