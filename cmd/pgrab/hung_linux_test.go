package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// startHanging starts a program on a file system that may stop answering.
func startHanging(t *testing.T) (*ptest.Hanging, *ptest.Target) {
	h := ptest.NewHanging(t, ptest.BuildC(t, "farsymbols.c"))
	g := ptest.StartWith(t, &ptest.Options{Truth: ptest.NewTruth(t)}, h.Program, "-u", "300")
	g.Ready()
	g.AwaitWork(10)
	return h, g
}

// within runs pgrab, which has to end by itself: a file system delays it by some seconds at most.
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

// TestHungFileSystem: if the file system of the program does not answer, pgrab shows addresses without names, says why,
// keeps its time, and lets go at ^C. The process runs on. It measures time, so no other test runs beside it.
func TestHungFileSystem(t *testing.T) {
	const bound = 15 * time.Second // of one second each that it waits for
	h, g := startHanging(t)
	h.Hang()
	pid := strconv.Itoa(g.PID)
	says := "read " + h.Program + ": its file system does not answer"
	r := within(t, bound, "-w", "-H", "0", "-t", "0", "-p", pid)
	if r.status != 0 || !strings.Contains(r.stdout, says) || !strings.Contains(r.stdout, " in farsymbols") {
		t.Errorf("-w: exit status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
	expectFree(t, g, "RS")
	r = within(t, bound, "-s", "none", "-b", "outer", "-t", "0.1", "-p", pid)
	if r.status != 1 || !strings.Contains(r.stderr, "breakpoint outer was never set: an object cannot be read: "+says) {
		t.Errorf("-b: exit status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
	expectFree(t, g, "RS")
	p := startPgrab(t, "-w", "-b", "outer", "-p", pid)
	p.Until("stopped at grab")
	p.Signal(os.Interrupt)
	if _, state := p.Finish(); state.ExitCode() > 1 {
		t.Errorf("^C: %v", state)
	}
	expectFree(t, g, "RS")
	g.AwaitWork(10)
}

// TestHungOpen: if the file system does not answer open(2), no signal interrupts the call. The process is let go
// nevertheless, when its time is over and at ^C. The threads of pgrab that wait for the file end with the file system.
func TestHungOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   []string
		stop   func(p *ptest.Target)
		status int
		says   string
	}{
		{[]string{"-w", "-t", "0"}, nil, 0, "its file system does not answer"},
		{[]string{"-s", "none", "-b", "outer"}, func(p *ptest.Target) { p.Signal(os.Interrupt) }, 1, "released"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			h, g := startHanging(t)
			h.HangOpen()
			defer h.End() // before pgrab is waited for, which may not end before, also where the test fails
			p := startPgrab(t, append(c.args, "-p", strconv.Itoa(g.PID))...)
			h.Asked()
			asks := func(tid int) bool { return p.Waits(tid) == "request_wait_answer" }
			p.WaitFor("a thread that waits for the file system", func() bool { return slices.ContainsFunc(p.Threads(), asks) })
			if asks(p.PID) {
				t.Errorf("the first thread waits for the file system: it is the one that gets signals")
			}
			if c.stop != nil {
				p.Until("grabbed")
				c.stop(p)
			}
			p.WaitFor("the end of all threads that can end", func() bool { return onlyStuck(p) })
			expectFree(t, g, "RS")
			g.AwaitWork(10)
			h.End()
			if out, state := p.Finish(); state.ExitCode() != c.status || !strings.Contains(out, c.says) {
				t.Errorf("%v, %q", state, out)
			}
		})
	}
}

// onlyStuck reports whether threads of an ended process are left in a wait that SIGKILL does not end.
func onlyStuck(p *ptest.Target) bool {
	stuck := false
	for _, tid := range p.Threads() {
		switch p.ThreadState(tid) {
		case 'D':
			stuck = true
		case 'Z', 'X':
		default:
			return false
		}
	}
	return stuck
}
