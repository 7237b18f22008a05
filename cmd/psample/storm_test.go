package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// storms are targets that do one thing as hard as they can, and find out
// themselves whether it was done right. They end after a number of rounds,
// which take them a fraction of a second.
var storms = []struct {
	name string
	argv string // the source, and arguments
}{
	{"threads", "threadstorm.c -t 4 -n 1500"},
	{"fork", "forkstorm.c -t 3 -n 120"},
	{"vfork", "vforkstorm.c -t 3 -n 150"},
	{"spawn", "spawnstorm.c -t 3 -n 80"},
	{"system", "spawnstorm.c -s -t 3 -n 40"},
	{"popen", "spawnstorm.c -o -t 3 -n 40"},
	{"clonevm", "clonevm.c -t 3 -n 1500"},
	{"exec", "execstorm.c -t 2 -n 100"},
	{"exec by a thread", "execstorm.c -T -t 2 -n 100"},
	{"signals", "sigstorm.c -n 500"},
	{"traps", "selftrap.c -n 5000"},
	{"leader gone", "leaderdead.c -t 2 -n 1500"},
	// Without the calls that wait for children: a SIGCHLD that is ignored is
	// queued for a traced process all the same and wakes a thread, and if
	// another thread takes it the first returns EINTR without any stop.
	{"blocking calls", "blockers.c -x wait -n 30"},
}

// TestStorms: a process that is sampled at 999 Hz from its first instruction to
// its end prints what it prints alone, and ends so.
func TestStorms(t *testing.T) {
	dir := psampleDir(t)
	for _, s := range storms {
		t.Run(s.name, func(t *testing.T) {
			argv := strings.Fields(s.argv)
			argv[0] = ptest.BuildC(t, argv[0])
			want, state := ptest.Start(t, argv...).Finish()
			if !state.Success() {
				t.Fatalf("alone: %v, printed %q", state, want)
			}
			began := time.Now()
			for first := true; first || ptest.Torture() && time.Since(began) < 10*time.Second; first = false {
				profile := filepath.Join(t.TempDir(), "profile.txt")
				var out, errs bytes.Buffer
				cmd := exec.Command(filepath.Join(dir, "psample"),
					append([]string{"-q", "-F", "999", "-s", "-o", profile, "--"}, argv...)...)
				cmd.Stdout, cmd.Stderr = &out, &errs
				if err := cmd.Run(); err != nil || out.String() != want || errs.Len() != 0 {
					t.Fatalf("psample: %v, printed %q, alone %q; standard error %q", err, &out, want, &errs)
				}
			}
		})
	}
}

// TestStormsInPassing: the same for one that is grabbed in the middle and let go
// again, all the time.
func TestStormsInPassing(t *testing.T) {
	dir := psampleDir(t)
	for _, s := range storms {
		t.Run(s.name, func(t *testing.T) {
			argv := strings.Fields(s.argv)
			argv[0] = ptest.BuildC(t, argv[0])
			want, state := ptest.Start(t, argv...).Finish()
			if !state.Success() {
				t.Fatalf("alone: %v, printed %q", state, want)
			}
			began := time.Now()
			visited := 0
			for visited == 0 || ptest.Torture() && time.Since(began) < 10*time.Second {
				g := ptest.Start(t, argv...)
				visited += visit(t, filepath.Join(dir, "psample"), g)
				got, state := g.Finish()
				if got != want || !state.Success() || t.Failed() {
					t.Fatalf("after %d visits: %v, printed %q, alone %q", visited, state, got, want)
				}
			}
			t.Logf("%d visits", visited)
		})
	}
}

// visit samples a target for a tenth of a second until it has ended, and
// returns how often. The target may be refused when it has begun to end, but not
// before: then it could be grabbed later.
func visit(t *testing.T, psample string, g *ptest.Target) (visited int) {
	t.Helper()
	refusal := ""
	for living(g) {
		var errs bytes.Buffer
		cmd := exec.Command(psample, "-q", "-F", "999", "-t", "0.1", "-p", fmt.Sprint(g.PID))
		cmd.Stderr = &errs
		err := cmd.Run()
		switch status := cmd.ProcessState.ExitCode(); {
		case status == 0 && errs.Len() == 0 && refusal == "":
			visited++
		case status == 1 && strings.HasPrefix(errs.String(), fmt.Sprintf("psample: grab %d: ", g.PID)):
			refusal = errs.String()
		default:
			t.Errorf("visit %d: %v, standard error %q after %q", visited, err, &errs, refusal)
			return visited
		}
	}
	return visited
}

// living reports whether a thread of the target has not ended.
func living(g *ptest.Target) bool {
	for _, tid := range g.Threads() {
		if s := g.ThreadState(tid); s != 'Z' && s != 'X' {
			return true
		}
	}
	return false
}
