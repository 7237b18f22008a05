package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ptools/internal/calls"
	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestSeveral: the calls of several processes are one row, or a row for each process. One of them that is not there is an error, and the others are counted.
func TestSeveral(t *testing.T) {
	uprobe.NeedCalls(t)
	program := ptest.BuildC(t, "testdata/known.c")
	a, b := ptest.Start(t, program, "forever"), ptest.Start(t, program, "forever")
	a.Ready()
	b.Ready()
	both := fmt.Sprintf("%d,%d", a.PID, b.PID)
	for _, c := range []struct {
		args []string
		code int
		keys []string
	}{
		{[]string{"-p", both}, 0, []string{""}},
		{[]string{"-p", both, "--by", "process"}, 0, []string{fmt.Sprint(a.PID), fmt.Sprint(b.PID)}},
		{[]string{"-p", both + ",4194305", "--by", "process"}, 1, []string{fmt.Sprint(a.PID), fmt.Sprint(b.PID)}},
	} {
		var out, errs strings.Builder
		if code := run(context.Background(), append(c.args, "--json", "-t", "0.1", "a.out`naps"), &out, &errs); code != c.code {
			t.Errorf("%q: status %d: %s", c.args, code, errs.String())
		}
		var keys []string
		for line := range strings.Lines(out.String()) {
			var r struct {
				Key   string
				Calls uint64
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil || r.Calls == 0 {
				t.Errorf("%q: %v", line, err)
			}
			number, _, _ := strings.Cut(r.Key, " ")
			keys = append(keys, number)
		}
		slices.Sort(c.keys)
		if slices.Sort(keys); !slices.Equal(keys, c.keys) {
			t.Errorf("%q: rows of %q, want %q", c.args, keys, c.keys)
		}
		if c.code != 0 && !strings.Contains(errs.String(), "1 of 3 processes were not counted") {
			t.Errorf("said %q", errs.String())
		}
	}
	var out, errs strings.Builder
	code := run(context.Background(), []string{"-p", both, "libnone`naps"}, &out, &errs)
	if want := "none of the 2 processes is counted\n"; code != 1 || strings.Count(errs.String(), "libnone") != 2 || !strings.HasSuffix(errs.String(), want) {
		t.Errorf("status %d, %q", code, errs.String())
	}
	for _, target := range []*ptest.Target{a, b} {
		ptest.TextIntact(t, target.PID)
		target.Kill()
	}
}

// TestMergeRows: rows of the same function are one, with the calls of all and their rates together.
func TestMergeRows(t *testing.T) {
	target := func(name string) *calls.Target {
		t := &calls.Target{Object: "/o"}
		t.Raw = name
		return t
	}
	made := func(name string, n uint64, level calls.Level, counted time.Duration) row {
		return row{target: target(name), stats: calls.Stats{Calls: n}, coverage: calls.Coverage{Level: level, Counted: counted, Partly: level != calls.Timed}}
	}
	rows := mergeRows([]row{made("f", 100, calls.Timed, 2*time.Second), made("g", 1, calls.Timed, 2*time.Second), made("f", 50, calls.Windowed, time.Second/2)})
	if len(rows) != 2 || rows[0].stats.Calls != 150 || rows[1].stats.Calls != 1 {
		t.Fatalf("%+v", rows)
	}
	if got := rows[0].rate(2 * time.Second); got != ">150" { // 50 and 100 a second
		t.Errorf("rate %s", got)
	}
}
