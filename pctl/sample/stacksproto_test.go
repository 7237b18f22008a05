package sample_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	pprof "github.com/google/pprof/profile"

	"ptools/internal/ptest"
)

// TestStacksUnnamed: functions of a stripped program are left to readers: they have their address in the file, and no name.
func TestStacksUnnamed(t *testing.T) {
	ptest.Need(t, "strip")
	stripped := filepath.Join(t.TempDir(), "idle")
	if out, err := exec.Command("strip", "-s", "-o", stripped, ptest.BuildC(t, "idle.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g := ptest.Start(t, stripped)
	g.Ready()
	stacks, err := openSampler(t, nil).Stacks(bg, g.PID)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := stacks.WritePprof(&b); err != nil {
		t.Fatal(err)
	}
	p, err := pprof.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	unnamed := 0
	for _, l := range p.Location {
		m := l.Mapping
		switch {
		case m == nil || l.Address < m.Start || l.Address >= m.Limit:
			t.Errorf("location %v is outside of its mapping %v", l, m)
		case m.File != stripped:
			if len(l.Line) == 0 || !m.HasFunctions {
				t.Errorf("location %v without a function", l)
			}
		case len(l.Line) > 0 || m.HasFunctions || m.Offset == 0 || m.BuildID == "":
			t.Errorf("location %v of %v", l, m)
		default:
			unnamed++
		}
	}
	if unnamed == 0 {
		t.Errorf("no location in %s: %v", stripped, p)
	}
}
