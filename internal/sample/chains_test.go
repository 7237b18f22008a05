package sample

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/internal/unwind"
)

// TestWholeChains prints, for many kinds of programs, how many of the stacks that
// were taken reach the thread's beginning, and why the others do not.
func TestWholeChains(t *testing.T) {
	with, without := "-fno-omit-frame-pointer", "-fomit-frame-pointer"
	for _, c := range []struct {
		name  string
		build func(*testing.T) string
	}{
		{"C", func(t *testing.T) string { return ptest.BuildC(t, "mix.c", without) }},
		{"C, frame pointers", func(t *testing.T) string { return ptest.BuildC(t, "mix.c", with) }},
		{"C, alternate stack", func(t *testing.T) string { return ptest.BuildC(t, "altstack.c") }},
		{"C, musl, static", func(t *testing.T) string { ptest.Need(t, "musl-gcc"); return ptest.BuildMusl(t, "mix.c", "-static") }},
		{"C++, exceptions", func(t *testing.T) string { return ptest.BuildC(t, "testdata/throws.cc", "-O2") }},
		{"Rust", buildRust},
		{"Go", func(t *testing.T) string { return ptest.BuildGo(t, "gomix.go") }},
		{"Go, stripped", func(t *testing.T) string { return ptest.BuildGo(t, "gomix.go", "-ldflags=-s -w") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := ptest.Start(t, c.build(t))
			g.Ready()
			wholeChains(t, g, 98)
		})
	}
}

// buildRust compiles the Rust target.
func buildRust(t *testing.T) string {
	ptest.Need(t, "rustc")
	exe := filepath.Join(t.TempDir(), "sorts")
	if out, err := exec.Command("rustc", "-O", "-o", exe, "testdata/sorts.rs").CombinedOutput(); err != nil {
		t.Fatalf("rustc: %v\n%s", err, out)
	}
	return exe
}

// TestWholeChainsOfTheZoo does the same with real programs.
func TestWholeChainsOfTheZoo(t *testing.T) {
	for _, a := range ptest.Zoo(t) {
		t.Run(a.Name, func(t *testing.T) {
			g := ptest.Start(t, a.Busy...)
			g.WaitFor("work", func() bool {
				used, err := processorTime(g.PID)
				return err == nil && used > 300*time.Millisecond
			})
			wholeChains(t, g, 95)
		})
	}
}

// wholeChains samples a target and wants that many of a hundred stacks whole. One of
// a few hundred may be cut where a program is in the middle of replacing its own code.
func wholeChains(t *testing.T, g *ptest.Target, percent int64) {
	t.Helper()
	s := sampleRounds(t, int64(ptest.Rounds(100, 300, 10_000)), time.Second/999, nil, attach(t, g.PID, nil))
	var taken int64
	var cut []string
	for end, n := range s.Cost().Ends {
		taken += n
		if e := unwind.End(end); e != unwind.Whole && n > 0 {
			cut = append(cut, fmt.Sprintf("%v: %d", e, n))
		}
	}
	whole := s.Cost().Ends[unwind.Whole]
	t.Logf("%-20s %6d stacks %6.2f %% whole  %s", t.Name()[strings.IndexByte(t.Name(), '/')+1:],
		taken, 100*float64(whole)/float64(max(taken, 1)), strings.Join(cut, ", "))
	if taken == 0 || whole*100 < taken*percent {
		t.Errorf("%d of %d stacks are whole", whole, taken)
	}
}
