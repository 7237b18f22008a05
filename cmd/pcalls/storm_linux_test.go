package main

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestStorms: a program whose calls are counted, its own and those of the C library that make threads and processes, prints what
// it prints alone, and ends in the same way.
func TestStorms(t *testing.T) {
	uprobe.NeedCalls(t)
	tool := command(t)
	storms := ptest.Storms
	if !ptest.Torture() {
		storms = storms[:1] // that of threads; those of processes take many seconds
	}
	for _, s := range storms {
		t.Run(s.Name, func(t *testing.T) {
			argv, want := s.Alone(t)
			args := []string{"-q", "a.out`*", "libc`*fork", "libc`pthread_*", "libc`*exec*", "libc`*wait*", "libc`malloc", "libc`*spawn*", "--"}
			cmd := exec.Command(tool, slices.Concat(args, argv)...)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil || errs.Len() > 0 {
				t.Fatalf("%v: %s", err, &errs)
			}
			if got, _, ok := strings.Cut(out.String(), "     CALLS "); !ok || got != want {
				t.Errorf("printed %q, alone %q", got, want)
			}
		})
	}
}
