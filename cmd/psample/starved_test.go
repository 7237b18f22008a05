package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestStarved: threads that are given no processor cost a sample, and not the rest of the time.
// psample reports them.
func TestStarved(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "starved.c"), "-t", "4", "-o", "6")
	g.Ready()
	cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), "--timers", "off", "-t", "0.7", "-p", strconv.Itoa(g.PID))
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	for _, want := range []struct{ out, text string }{
		{stderr.String(), " [not stopped] (their threads were given no processor)"},
		{stdout.String(), "[not stopped]\n"},
	} {
		if !strings.Contains(want.out, want.text) {
			t.Errorf("no %q in %q", want.text, want.out)
		}
	}
	// The time of the last round's look is counted for no thread.
	if !regexp.MustCompile(`, (4\.[3-9]|5\.0) threads on average\n`).MatchString(stdout.String()) {
		t.Errorf("5 threads are %s", stdout.String())
	}
	g.Stdin.Close()
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("ended with %v: %s", state, out)
	}
}
