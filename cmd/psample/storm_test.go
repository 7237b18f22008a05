package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"ptools/internal/ptest"
)

// TestStorms: a process that is sampled at 999 Hz from its first instruction to
// its end prints what it prints alone, and ends in the same way.
func TestStorms(t *testing.T) {
	dir := psampleDir(t)
	for _, s := range ptest.Storms {
		t.Run(s.Name, func(t *testing.T) {
			argv, want := s.Alone(t)
			ptest.Weather(1, func() int {
				profile := filepath.Join(t.TempDir(), "profile.txt")
				var out, errs bytes.Buffer
				cmd := exec.Command(filepath.Join(dir, "psample"),
					append([]string{"-q", "-F", "999", "-s", "-o", profile, "--"}, argv...)...)
				cmd.Stdout, cmd.Stderr = &out, &errs
				if err := cmd.Run(); err != nil || out.String() != want || errs.Len() != 0 {
					t.Fatalf("psample: %v, printed %q, alone %q; standard error %q", err, &out, want, &errs)
				}
				return 1
			})
		})
	}
}

// TestStormsInPassing: the same for a process that is grabbed in the middle, sampled for a
// tenth of a second and let go, again and again.
func TestStormsInPassing(t *testing.T) {
	psample := filepath.Join(psampleDir(t), "psample")
	for _, s := range ptest.Storms {
		t.Run(s.Name, func(t *testing.T) {
			argv, want := s.Alone(t)
			visited := ptest.Weather(1, func() int {
				g := ptest.Start(t, argv...)
				visited := g.Visit(fmt.Sprintf("psample: grab %d: ", g.PID), func(int) (int, string) {
					var errs bytes.Buffer
					cmd := exec.Command(psample, "-q", "-F", "999", "-t", "0.1", "-p", fmt.Sprint(g.PID))
					cmd.Stderr = &errs
					cmd.Run() // its status is looked at
					return cmd.ProcessState.ExitCode(), errs.String()
				})
				got, state := g.Finish()
				if got != want || !state.Success() || t.Failed() {
					t.Fatalf("after %d visits: %v, printed %q, alone %q", visited, state, got, want)
				}
				return visited
			})
			t.Logf("%d visits", visited)
		})
	}
}
