package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// TestHungFileSystem: if the file system of the program does not answer, psample shows what it can, and keeps its time. Its
// rounds wait for a second until the file is given up, so a profile of half a second had two stops, and both could be in poll.
func TestHungFileSystem(t *testing.T) {
	t.Parallel()
	h := ptest.NewHanging(t, ptest.BuildC(t, "farsymbols.c"))
	g := ptest.StartWith(t, &ptest.Options{Truth: ptest.NewTruth(t)}, h.Program)
	g.Ready()
	g.AwaitWork(10)
	h.Hang()
	for _, timers := range []string{"auto", "off"} {
		ctx, cancel := context.WithTimeout(t.Context(), ptest.Patience)
		defer cancel()
		begun := time.Now()
		out, err := exec.CommandContext(ctx, filepath.Join(psampleDir(t), "psample"), "--timers", timers, "-t", "2", "-p", strconv.Itoa(g.PID)).CombinedOutput()
		if took := time.Since(begun); err != nil || took > 15*time.Second || !strings.Contains(string(out), "farsymbols+0x") {
			t.Errorf("--timers %s: %v after %v: %s", timers, err, took, out)
		}
		g.AwaitWork(10)
	}
}
