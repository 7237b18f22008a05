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

// TestTooFewDescriptors: if even the runtime cannot have its descriptors, one line says so.
func TestTooFewDescriptors(t *testing.T) {
	psample := filepath.Join(psampleDir(t), "psample")
	for limit := 6; limit <= 12; limit++ {
		cmd := exec.Command("/bin/sh", "-c", "ulimit -n "+strconv.Itoa(limit)+`; exec "$0" -q -O folded -- true`, psample)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		_ = cmd.Run()
		status, text := cmd.ProcessState.ExitCode(), stderr.String()
		if status > 1 || strings.Count(text, "\n") != status || status == 1 && !strings.Contains(text, "too many open files") {
			t.Errorf("limit %d: exit status %d, %q", limit, status, text)
		}
	}
}

// TestPartialProfile: at each limit of descriptors a profile has all threads, or there is an error.
func TestPartialProfile(t *testing.T) {
	t.Parallel()
	const threads = 41
	psample := filepath.Join(psampleDir(t), "psample")
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"), "-t", strconv.Itoa(threads-1))
	g.Ready()
	for _, flags := range []string{"", "--timers off", "--follow"} {
		whole := 0
		for limit := 10; limit <= 40; limit += ptest.Rounds(10, 6, 1) {
			script := fmt.Sprintf(`ulimit -n %d; exec "$0" -q -O json -t 0.1 -p %d %s`, limit, g.PID, flags)
			cmd := exec.Command("/bin/sh", "-c", script, psample)
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run()
			status, text := cmd.ProcessState.ExitCode(), stderr.String()
			switch found := strings.Count(stdout.String(), `"tid":`); {
			case status == 0 && found >= threads:
				whole++
			case status != 1 || !strings.Contains(text, "too many open files") || strings.Count(text, "\n") != 1:
				t.Errorf("%s with %d descriptors: exit status %d, %d threads, %q", flags, limit, status, found, text)
			}
		}
		if whole == 0 {
			t.Errorf("%s: no profile is whole", flags)
		}
	}
}
