package targets

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ptools/internal/ptest"
)

// TestSelect: processes are found by number, by name, by the name or path of their program, and by cgroup.
func TestSelect(t *testing.T) {
	exe := ptest.BuildC(t, "waits.c")
	long := filepath.Join(t.TempDir(), "a-name-of-more-than-fifteen-bytes")
	if err := os.Link(exe, long); err != nil { // on another file system
		text, err := os.ReadFile(exe)
		if err == nil {
			err = os.WriteFile(long, text, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	g := ptest.Start(t, exe, "deadlock", "2")
	l := ptest.Start(t, long, "deadlock", "2")
	g.Ready()
	l.Ready()
	for _, tt := range []struct {
		args   []string
		cgroup string
		want   []int // at least
	}{
		{[]string{"waits"}, "", []int{g.PID}},
		{[]string{"wait?"}, "", []int{g.PID}},
		{[]string{exe}, "", []int{g.PID}},
		{[]string{filepath.Base(long)}, "", []int{l.PID}},
		{[]string{filepath.Base(long)[:15]}, "", []int{l.PID}},
		{[]string{"waits", long}, "", []int{g.PID, l.PID}},
		{[]string{"1 2", "3,1"}, "", []int{1, 2, 3}},
		{nil, "**", []int{g.PID, l.PID}},
		{[]string{"waits"}, "**", []int{g.PID}},
	} {
		pids, found, err := Select(tt.args, tt.cgroup)
		for _, pid := range tt.want {
			if !slices.Contains(pids, pid) || found != (tt.want[0] != 1) {
				t.Errorf("%q, %q: %v, %v, %v, want %d", tt.args, tt.cgroup, pids, found, err, pid)
			}
		}
		if slices.Contains(pids, os.Getpid()) {
			t.Errorf("%q: %v has ourselves", tt.args, pids)
		}
	}
	for _, args := range [][]string{{""}, {"1,"}, {"0"}, {"-1"}, {"-x"}} {
		if pids, _, err := Select(args, ""); err == nil {
			t.Errorf("%q: %v", args, pids)
		}
	}
	if _, _, err := Select([]string{"waits"}, "/no/such/*"); !errors.As(err, new(None)) {
		t.Errorf("in no cgroup: %v", err)
	}
	if _, _, err := Select([]string{"WAITS"}, ""); err == nil || err.Error() != `no process has the name "WAITS" (similar: waits)` {
		t.Errorf("%v", err)
	}
}
