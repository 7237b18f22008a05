package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"ptools/internal/ptest"
)

func TestMain(m *testing.M) { ptest.CommandMain(m, "pgrab", main) }

// result is what a pgrab that has ended left.
type result struct {
	stdout, stderr string
	status         int
}

// pgrab runs the command to its end with an input, nil for an empty one.
func pgrab(t *testing.T, stdin io.Reader, args ...string) result {
	t.Helper()
	cmd := exec.Command(pgrabPath(t), args...)
	cmd.Stdin = stdin
	return runCommand(t, cmd)
}

func runCommand(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%q: exit status %d\nstdout:\n%s\nstderr:\n%s", cmd.Args, r.status, r.stdout, r.stderr)
		}
	})
	return r
}

// pgrabPath is a name under which the test binary is the command.
func pgrabPath(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "pgrab")
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// startPgrab starts the command; its output is read line by line.
func startPgrab(t *testing.T, args ...string) *ptest.Target {
	t.Helper()
	return ptest.Start(t, append([]string{pgrabPath(t)}, args...)...)
}

// expect checks the next lines of a pgrab that watches process pid.
func expect(t *testing.T, g *ptest.Target, pid int, lines ...string) {
	t.Helper()
	for _, want := range lines {
		want = "pid " + strconv.Itoa(pid) + ": " + want
		if got := g.Line(); got != want {
			t.Fatalf("pgrab prints %q, want %q", got, want)
		}
	}
}

// expectFree checks that a target has no tracer and that it is in one of the
// states.
func expectFree(t *testing.T, g *ptest.Target, states string) {
	t.Helper()
	if by := g.TracerPID(); by != 0 {
		name, err := os.ReadFile("/proc/" + strconv.Itoa(by) + "/cmdline")
		t.Errorf("process %d is still traced by %d (%q, %v)", g.PID, by, name, err)
	}
	g.WaitState(states)
}
