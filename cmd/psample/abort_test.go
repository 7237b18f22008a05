package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestGroupSignals: a command that sends its process group, and so psample, a signal at which the Go
// runtime would end the program with its dump. The profile is written, the status is the command's.
func TestGroupSignals(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"QUIT": syscall.SIGQUIT, "ABRT": syscall.SIGABRT, "TRAP": syscall.SIGTRAP} {
		for _, tt := range []struct {
			script string
			status int
		}{
			{"ulimit -c 0; kill -" + name + " 0; echo survived", 128 + int(sig)},
			{"trap 'echo caught' " + name + "; kill -" + name + " 0; kill -" + name + " 0; exit 5", 5},
		} {
			cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), "-q", "--", "sh", "-c", tt.script)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // not the test's
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			_ = cmd.Run() // the status tells
			if got := cmd.ProcessState.ExitCode(); got != tt.status || errs.Len() != 0 || !strings.Contains(out.String(), " at 99 Hz") {
				t.Errorf("%s: exit status %d, want %d; stdout %q, stderr %q", tt.script, got, tt.status, &out, &errs)
			}
		}
	}
}
