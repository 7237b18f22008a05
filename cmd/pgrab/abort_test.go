package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestGroupSignals: a command that sends its process group, and so pgrab, a signal at which the Go
// runtime would end the program with its dump. The command decides, and the status is its own.
func TestGroupSignals(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{
		"QUIT": syscall.SIGQUIT, "ABRT": syscall.SIGABRT, "TRAP": syscall.SIGTRAP, "SEGV": syscall.SIGSEGV, "SYS": syscall.SIGSYS,
	} {
		for _, tt := range []struct {
			script, out string
			status      int
		}{
			{"ulimit -c 0; kill -" + name + " 0; echo survived", "", 128 + int(sig)},
			{"trap 'echo caught' " + name + "; kill -" + name + " 0; kill -" + name + " 0; exit 5", "caught\ncaught\n", 5},
		} {
			cmd := exec.Command(pgrabPath(t), "-q", "-s", "none", "--", "sh", "-c", tt.script)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // not the test's
			r := runCommand(t, cmd)
			if r.status != tt.status || r.stdout != tt.out {
				t.Errorf("%s: exit status %d, want %d; stdout %q", tt.script, r.status, tt.status, r.stdout)
			}
			if line, rest, _ := strings.Cut(r.stderr, "\n"); rest != "" || line != "" && !strings.Contains(line, "left to the command") {
				t.Errorf("%s: stderr %q", tt.script, r.stderr)
			}
		}
	}
}
