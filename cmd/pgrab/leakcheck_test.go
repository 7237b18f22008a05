package main

import (
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestLeakSanitizer: LeakSanitizer attaches to its own process at its exit, which fails while that is traced. The user is told, for
// a command and for a process that runs.
func TestLeakSanitizer(t *testing.T) {
	t.Parallel()
	exe := ptest.BuildC(t, "dumper.c", "-fsanitize=leak")
	const line = "it has LeakSanitizer"
	merged := []string{"sh", "-c", `exec "$0" "$@" 2>&1`, pgrabPath(t), "-q", "-s", "none"}
	p := ptest.Start(t, append(merged, "--", exe)...)
	if out, state := p.Finish(); !strings.Contains(out, line) || state.Success() {
		t.Errorf("%v, printed %q", state, out)
	}
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, exe)
	g.Ready()
	p = ptest.Start(t, append(merged, "-t", "0", "-p", strconv.Itoa(g.PID))...)
	if out, state := p.Finish(); strings.Count(out, line) != 1 || !state.Success() {
		t.Errorf("%v, printed %q", state, out)
	}
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("without pgrab it ends with %v, printed %q", state, out)
	}
}
