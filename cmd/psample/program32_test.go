package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestProgram32: the calls of a 32-bit program that the target executes have their own names, and
// psample says that its stacks are not unwound.
func TestProgram32(t *testing.T) {
	t.Parallel()
	exe := ptest.Build32(t)
	for _, timers := range []string{"auto", "off"} {
		cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), "--timers", timers, "--", "sh", "-c", "exec "+exe)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()
		const told = "program32 is a 32-bit program: its calls are shown as [i386 ...], its functions have no names, its stacks are not unwound, and it is not stopped\n"
		if code := cmd.ProcessState.ExitCode(); code != 7 || !strings.Contains(stdout.String(), "[i386 epoll_wait]\n") ||
			strings.Contains(stdout.String(), " [migrate_pages]") || strings.Count(stderr.String(), told) != 1 {
			t.Errorf("timers %s: status %d\n%s\n%s", timers, code, stdout.String(), stderr.String())
		}
	}
}
