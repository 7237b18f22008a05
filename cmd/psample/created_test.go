package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestBriefCreator: the stack of a creation is known even if the process ends at once, before anything else of it
// was read.
func TestBriefCreator(t *testing.T) {
	exe := ptest.BuildC(t, "briefcreator.c")
	psample := filepath.Join(psampleDir(t), "psample")
	for range ptest.Rounds(5, 20, 20) {
		out, err := exec.Command(psample, "-q", "--threadcreate", "-O", "folded", "--", exe).CombinedOutput()
		if text := string(out); err != nil || !strings.Contains(text, ";main;make;") || !strings.HasSuffix(text, " 1\n") {
			t.Errorf("%v: %q", err, text)
		}
	}
}

// TestCreatedBefore: threads that exist already are counted as such.
func TestCreatedBefore(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"), "-t", "5")
	g.Ready()
	psample := filepath.Join(psampleDir(t), "psample")
	threads := len(g.Threads()) - 1
	out, err := exec.Command(psample, "-q", "--threadcreate", "-t", "0.1", "-p", strconv.Itoa(g.PID)).CombinedOutput()
	header := fmt.Sprintf("idle (pid %d): 0.1 s, 0 threads created, %d existed before\n", g.PID, threads)
	if text := string(out); err != nil || !strings.HasPrefix(text, header) || !strings.Contains(text, "100.00%  [created before]\n") {
		t.Errorf("%v: %q, want %q", err, text, header)
	}
}
