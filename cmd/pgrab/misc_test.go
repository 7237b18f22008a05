package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestSeveralProcesses watches several processes at once; each line has its
// process.
func TestSeveralProcesses(t *testing.T) {
	var pids []string
	var targets []*ptest.Target
	for range 4 {
		g := ptest.Start(t, "sleep", "1000")
		targets = append(targets, g)
		pids = append(pids, strconv.Itoa(g.PID))
	}
	p := startPgrab(t, "-H", "0", "-p", strings.Join(pids, ","), "-p", pids[0])
	seen := map[string]int{}
	for range 2 * len(targets) {
		seen[p.Line()]++
	}
	for _, pid := range pids {
		if seen["pid "+pid+": grabbed (1 thread), stopped at grab"] != 1 || seen["pid "+pid+": continued"] != 1 {
			t.Errorf("lines of %s in %v", pid, seen)
		}
	}
	targets[0].Kill()
	expect(t, p, targets[0].PID, "killed by signal 9 (killed)")
	p.Signal(syscall.SIGTERM)
	out, state := p.Finish()
	if n := strings.Count(out, "released, running\n"); n != len(targets)-1 || state.ExitCode() != 0 {
		t.Errorf("at the end %d released, %v; %q", n, state, out)
	}
	for _, g := range targets[1:] {
		expectFree(t, g, "S")
	}
}

// TestStoppedReader: a reader that does not read stops no process, and a signal
// still lets the process go.
func TestStoppedReader(t *testing.T) {
	g, _ := startCalls(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(pgrabPath(t), "-s", "none", "-b", "f_push", "-p", strconv.Itoa(g.PID))
	cmd.Stdout = w
	cmd.Stderr = io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	w.Close()
	out := bufio.NewReader(r)
	for line := ""; !strings.Contains(line, " hit f_push+0 in calls (hit "); {
		if line, err = out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	// More calls than the pipe, and the queue, could hold lines for.
	g.AwaitWork(3 * queued)
	cmd.Process.Signal(os.Interrupt)
	g.WaitFor("its being let go", func() bool { return g.TracerPID() == 0 })
	g.AwaitWork(1)
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(rest), "hits not printed: the output is slower than they come\n") {
		t.Error("nothing is said about the hits that have no line")
	}
}

// startCalls starts a target that calls f_push without end.
func startCalls(t *testing.T) (*ptest.Target, *ptest.Truth) {
	t.Helper()
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "calls.c"), "-t", "2", "-f", "push")
	g.Ready()
	return g, truth
}

// TestNamesOfTheTarget: what a target calls itself cannot drive a terminal.
func TestNamesOfTheTarget(t *testing.T) {
	dir := t.TempDir()
	name := dir + "/\x1b[2Jevil\n\u202e"
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	ptest.WriteProgram(t, name, b)
	for _, format := range []string{"--json", "--verbose"} {
		r := pgrab(t, nil, format, "-w", "-H", "0", "--", name, "0")
		if r.status != 0 || !strings.Contains(r.stdout, "evil") {
			t.Errorf("%s: exit status %d", format, r.status)
		}
		if strings.ContainsAny(r.stdout+r.stderr, "\x1b\u202e") || strings.Contains(r.stdout, "evil\n") {
			t.Errorf("%s: control characters in %q", format, r.stdout+r.stderr)
		}
	}
	r := pgrab(t, nil, "--", name+"absent")
	if strings.ContainsAny(r.stderr, "\x1b\u202e") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("a command that is not there: %q", r.stderr)
	}
}

// TestExecIsFollowed: with its program, and breakpoints by symbol set anew.
func TestExecIsFollowed(t *testing.T) {
	exe := ptest.BuildC(t, "calls.c")
	r := pgrab(t, nil, "-s", "exec", "-H", "0", "-b", "f_push", "--", "sh", "-c", "exec "+exe+" -f push -n 5")
	for _, want := range []string{
		": exec " + exe + "\n", ": stopped at exec\n", ": exited with status 0\n", " f_push\n", "(hit 5)\n",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no line %q", want)
		}
	}
	if r.status != 0 {
		t.Errorf("exit status %d", r.status)
	}
}

// TestUnresolvedBreakpoint: pgrab says that a breakpoint waits, and that it has
// waited in vain.
func TestUnresolvedBreakpoint(t *testing.T) {
	g := ptest.Start(t, "sleep", "1000")
	r := pgrab(t, nil, "-s", "none", "-t", "0", "-b", "no_such_function", "-p", strconv.Itoa(g.PID))
	if r.status != 1 || !strings.Contains(r.stderr, "no_such_function yet; waiting for one") ||
		!strings.Contains(r.stderr, "no_such_function was never set") ||
		!strings.HasSuffix(r.stdout, "0        -  no_such_function\n") {
		t.Errorf("exit status %d", r.status)
	}
	expectFree(t, g, "S")
}
