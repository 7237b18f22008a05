package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestProcessorTime: a call's processor time is what its thread had of the processor meanwhile, whether calls are reported with their
// arguments, or only with their times, and whether they are told apart. In single calls the two differ by what a hypervisor takes while
// the scheduler switches.
func TestProcessorTime(t *testing.T) {
	uprobe.NeedCalls(t)
	path := ptest.BuildC(t, "testdata/works.c", "-pthread")
	for _, args := range [][]string{{"--args"}, {"--slower", "1ns"}, {"--slower", "1ns", "--by", "nap", "--sum", "nap"}} {
		var out, errs strings.Builder
		file := filepath.Join(t.TempDir(), "worked")
		if code := run(context.Background(), append(append([]string{"--json", "-q"}, args...), "works", "--", path, file), &out, &errs); code != 0 {
			t.Fatalf("status %d: %s", code, errs.String())
		}
		type call struct {
			TID      int           `json:"tid"`
			Duration time.Duration `json:"duration_ns"`
			CPU      time.Duration `json:"cpu_ns"`
			Function string
		}
		reported := map[int][]call{}
		for line := range strings.Lines(out.String()) {
			c := call{CPU: -1}
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatal(err)
			}
			if c.Function == "" {
				reported[c.TID] = append(reported[c.TID], c)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cpu, worked time.Duration
		for line := range strings.Lines(string(text)) {
			var tid int
			var nap, ran time.Duration
			if _, err := fmt.Sscan(line, &tid, &nap, &ran); err != nil {
				t.Fatal(err)
			}
			if len(reported[tid]) == 0 {
				t.Fatalf("%v: a call of %d is not reported\n%s", args, tid, out.String())
			}
			c := reported[tid][0]
			if reported[tid] = reported[tid][1:]; c.CPU < 0 || c.CPU > c.Duration-nap+time.Millisecond {
				t.Errorf("%v: %v of %v on the processor, where the thread ran for %v and slept for %v", args, c.CPU, c.Duration, ran, nap)
			}
			cpu, worked = cpu+c.CPU, worked+ran
		}
		if worked == 0 || cpu < worked*9/10 || cpu > worked*5/4 {
			t.Errorf("%v: %v on the processor, where the threads ran for %v\n%s", args, cpu, worked, out.String())
		}
	}
}
