package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// countedCalls is what calls of a function are in a profile, and in the table.
type countedCalls struct{ Calls, Time, Sum int64 }

// ofTable reads the lines of --json.
func ofTable(t *testing.T, lines string) map[string]countedCalls {
	t.Helper()
	all := map[string]countedCalls{}
	for line := range strings.Lines(lines) {
		var v struct {
			Function string
			Calls    int64
			Time     int64 `json:"sum_ns"`
			Sum      int64
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all[v.Function] = countedCalls{v.Calls, v.Time, v.Sum}
	}
	return all
}

// ofProfile reads a file of pprof. The functions that were called are the innermost ones.
func ofProfile(t *testing.T, file string) (*profile.Profile, map[string]countedCalls) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]countedCalls{}
	for _, s := range p.Sample {
		leaf := s.Location[0].Line
		if len(leaf) != 1 {
			t.Errorf("%d functions are called at once", len(leaf))
		}
		c := all[leaf[0].Function.Name]
		c.Calls, c.Time = c.Calls+s.Value[0], c.Time+s.Value[1]
		if len(s.Value) > 2 {
			c.Sum += s.Value[2]
		}
		all[leaf[0].Function.Name] = c
	}
	return p, all
}

// TestProfileIsTable: a profile has the calls, times and sums of the table, those included that have not ended, and pprof reads it.
func TestProfileIsTable(t *testing.T) {
	uprobe.NeedCalls(t)
	target := ptest.Start(t, ptest.BuildC(t, "testdata/known.c", "-g"), "forever")
	target.Ready()
	file := filepath.Join(t.TempDir(), "calls.pb.gz")
	var out, errs strings.Builder
	args := []string{"--json", "--force", "-o", file, "--sum", "3 - return", "--unit", "bytes", "-p", strconv.Itoa(target.PID), "-t", "0.3", "a.out`known_deep", "a.out`naps", "nanosleep"}
	if code := run(context.Background(), args, &out, &errs); code != 0 {
		t.Fatalf("status %d: %s", code, errs.String())
	}
	target.Kill()
	want := ofTable(t, out.String())
	p, got := ofProfile(t, file)
	for name, w := range want {
		if g := got[name]; g != w || w.Calls == 0 {
			t.Errorf("%s: the profile has %v, the table %v", name, g, w)
		}
	}
	if len(want) != 3 || len(got) != 3 || len(p.SampleType) != 3 || *p.SampleType[2] != (profile.ValueType{Type: "3 - return", Unit: "bytes"}) || p.DefaultSampleType != "3 - return" {
		t.Errorf("functions %v, types %v, default %s", got, p.SampleType, p.DefaultSampleType)
	}
	top, err := exec.Command(ptest.GoTool(t, "pprof"), "-top", "-sample_index=calls", file).CombinedOutput()
	if line := regexp.MustCompile(` (\d+) .* known_deep\n`).FindSubmatch(top); err != nil || line == nil || string(line[1]) != strconv.FormatInt(want["known_deep"].Calls, 10) {
		t.Errorf("%v: of %d calls of known_deep pprof shows\n%s", err, want["known_deep"].Calls, top)
	}
}
