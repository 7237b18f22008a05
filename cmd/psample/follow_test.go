package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestFollowStops: without timers each process of a tree is seized at its birth. Their number is exact, storms end as
// they do alone, and the exit status is the command's.
func TestFollowStops(t *testing.T) {
	t.Parallel()
	mix := ptest.BuildC(t, "mix.c")
	for _, tt := range []struct {
		name, script string
		processes    int
		status       int
	}{
		{"shell", `(exit 3); /bin/true; (/bin/true; exit 4); "$0" -n 200 >/dev/null & "$0" -n 200 > /dev/null; wait; exit 6`, 7, 6},
		{"forks", ptest.BuildC(t, "forkstorm.c") + " -t 2 -n 40 >/dev/null; :", 1 + 1 + 80 + 20, 0},
		{"spawns", ptest.BuildC(t, "spawnstorm.c") + " -t 2 -n 40 >/dev/null; :", 1 + 1 + 80, 0},
		{"vforks", ptest.BuildC(t, "vforkstorm.c") + " -t 2 -n 40 >/dev/null; :", 1 + 1 + 80, 0}, // half of them execute nothing
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "profile.json")
			cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), "--follow", "--timers", "off", "-q", "-o", out, "--", "/bin/sh", "-c", tt.script, mix)
			said, err := cmd.CombinedOutput()
			if status := cmd.ProcessState.ExitCode(); status != tt.status {
				t.Errorf("exit status %d, want %d: %v: %s", status, tt.status, err, said)
			}
			b, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			var p struct {
				Processes []struct {
					Command string  `json:"comm"`
					CPU     float64 `json:"cpu_ns"`
				} `json:"processes"`
			}
			if err := json.Unmarshal(b, &p); err != nil {
				t.Fatal(err)
			}
			if len(p.Processes) != tt.processes {
				t.Errorf("%d processes, want %d", len(p.Processes), tt.processes)
			}
			var mixed float64
			for _, q := range p.Processes {
				if q.CPU == 0 {
					t.Errorf("a process has used nothing: %s", b[:min(len(b), 1200)])
				}
				if strings.HasPrefix(q.Command, "mix") {
					mixed += q.CPU
				}
			}
			if tt.name == "shell" && mixed < 60e6 {
				t.Errorf("mix has used %v ns: %s", mixed, b[:min(len(b), 1200)])
			}
		})
	}
}

// TestFollowLeaves: without timers, psample waits for a command that outlives its profile, and no longer traces what the
// command has started.
func TestFollowLeaves(t *testing.T) {
	const script = `grep TracerPid /proc/self/status; (read go; exec grep TracerPid /proc/self/status); exit 4`
	cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), "--follow", "--timers", "off", "-t", "0.3", "-o", "/dev/null", "--", "/bin/sh", "-c", script)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stdout = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told := bufio.NewScanner(stderr)
	for told.Scan() && !strings.Contains(told.Text(), "is still running") {
	}
	io.WriteString(stdin, "go\n") // an error means that it has ended
	io.Copy(io.Discard, stderr)
	cmd.Wait() // the state says how it ended
	lines := strings.Split(said.String(), "\n")
	if status := cmd.ProcessState.ExitCode(); status != 4 || len(lines) != 3 || lines[0] == "TracerPid:\t0" || lines[1] != "TracerPid:\t0" {
		t.Errorf("exit status %d: %q", status, said.String())
	}
}

// TestFollowTimes: in outputs with times each process of a tree is in its own time, whether it lived long enough to be
// looked at or not, and so is what it did.
func TestFollowTimes(t *testing.T) {
	mix := ptest.BuildC(t, "mix.c")
	for _, tt := range []struct {
		name   string
		rounds string
	}{{"short", "200"}, {"long", "2500"}} {
		t.Run(tt.name, func(t *testing.T) {
			const script = `sleep 0.4; date +%s.%N; "$0" -n $1 >/dev/null; date +%s.%N; sleep 0.3`
			out := filepath.Join(t.TempDir(), "profile.perf")
			cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), "--follow", "-q", "-o", out, "--", "/bin/sh", "-c", script, mix, tt.rounds)
			said, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var begun, ended float64
			if _, err := fmt.Sscan(string(said), &begun, &ended); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			b, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			first, last, n := math.Inf(1), 0.0, 0
			for _, m := range regexp.MustCompile(`(?m)^mix \d+/\d+ ([0-9.]+):`).FindAllStringSubmatch(string(b), -1) {
				at, _ := strconv.ParseFloat(m[1], 64)
				first, last, n = min(first, at), max(last, at), n+1
			}
			// date has ended before mix begins, and begins after mix has ended.
			const slack = 0.02
			if n < 20 || first < begun-slack || last > ended+slack || first > begun+(ended-begun)/2 || last < begun+(ended-begun)/2 {
				t.Errorf("%d samples from %f to %f, mix ran from %f to %f", n, first-begun, last-begun, 0.0, ended-begun)
			}
		})
	}
}
