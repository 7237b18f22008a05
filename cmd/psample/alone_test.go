package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// copyOf returns a copy of psample in a directory that every user may enter.
func copyOf(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "psample")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	b, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "psample"), b, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "psample")
}

// TestPtraceRightAlone: with CAP_SYS_PTRACE and nothing else the system calls of threads may not be read. Those that
// sleep are stopped once, not in each round.
func TestPtraceRightAlone(t *testing.T) {
	ptest.Need(t, "setpriv")
	ptest.NeedUsers(t)
	const threads = 20
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"), "-t", fmt.Sprint(threads))
	g.Ready()
	const only = "-all,+sys_ptrace"
	cmd := exec.Command("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps="+only,
		"--ambient-caps="+only, "--bounding-set="+only, "--no-new-privs",
		copyOf(t), "-O", "folded", "--value", "wall", "-t", "0.5", "-p", fmt.Sprint(g.PID))
	cmd.Dir = "/"
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	var rounds, late, missed, stops int
	if _, err := fmt.Sscanf(stderr.String(), "psample: %d rounds (%d late, %d missed), %d stops,", &rounds, &late, &missed, &stops); err != nil {
		t.Fatalf("%v: %q", err, &stderr)
	}
	if all := len(g.Threads()); rounds < 5 || stops > all || all < threads {
		t.Errorf("%d stops in %d rounds of %d threads that sleep", stops, rounds, all)
	}
	if strings.TrimSpace(stdout.String()) == "" {
		t.Error("nothing is shown")
	}
}
