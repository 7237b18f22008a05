package main

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// startHung starts a program on a file system that does not answer any more.
func startHung(t *testing.T) *ptest.Target {
	h := ptest.NewHanging(t, ptest.BuildC(t, "farsymbols.c"))
	g := ptest.StartWith(t, &ptest.Options{Truth: ptest.NewTruth(t)}, h.Program)
	g.Ready()
	g.AwaitWork(10)
	h.Hang()
	return g
}

// within runs pgrab, which has to end by itself: a file system keeps it waiting for some seconds at most.
func within(t *testing.T, d time.Duration, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), ptest.Patience)
	defer cancel()
	begun := time.Now()
	r := runCommand(t, exec.CommandContext(ctx, pgrabPath(t), args...))
	if took := time.Since(begun); took > d {
		t.Errorf("%q took %v", args, took)
	}
	return r
}

// TestHungFileSystem: where the file system of the program does not answer pgrab shows addresses without names, says why, keeps its
// time, and lets go at ^C. The process runs on.
func TestHungFileSystem(t *testing.T) {
	const bound = 15 * time.Second // of one second each that it waits for
	g := startHung(t)
	pid := strconv.Itoa(g.PID)
	r := within(t, bound, "-w", "-H", "0", "-t", "0", "-p", pid)
	if r.status != 0 || !strings.Contains(r.stdout, "its file system does not answer") || !strings.Contains(r.stdout, " in farsymbols") {
		t.Errorf("-w: exit status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
	expectFree(t, g, "R")
	r = within(t, bound, "-s", "none", "-b", "outer", "-t", "0.1", "-p", pid)
	if r.status != 1 || !strings.Contains(r.stderr, "breakpoint outer was never set: an object cannot be read: its file system does not answer") {
		t.Errorf("-b: exit status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
	expectFree(t, g, "R")
	p := startPgrab(t, "-w", "-b", "outer", "-p", pid)
	p.Until("stopped at grab")
	p.Signal(os.Interrupt)
	if _, state := p.Finish(); state.ExitCode() > 1 {
		t.Errorf("^C: %v", state)
	}
	expectFree(t, g, "R")
	g.AwaitWork(10)
}
