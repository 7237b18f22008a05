package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestIgnored: a COMMAND ignores the signals that were ignored when pgrab began, and no others: SIGPIPE in a service of
// systemd, SIGHUP under nohup, SIGINT and SIGQUIT in a background job.
func TestIgnored(t *testing.T) {
	t.Parallel()
	// A test binary has no symbols, and this needs them (ptrace.inheritedIgnored).
	path := filepath.Join(t.TempDir(), "pgrab")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, signals := range []string{"", "HUP", "INT QUIT", "PIPE", "HUP INT QUIT PIPE ALRM TERM USR1 USR2 CHLD TSTP TTIN TTOU URG WINCH"} {
		ignoring := func(then string) string {
			r := runCommand(t, exec.Command("/bin/sh", "-c", "for s in "+signals+"; do trap '' $s; done; "+then, path))
			if r.status != 0 {
				t.Errorf("%s: status %d, %s", then, r.status, r.stderr)
			}
			return r.stdout
		}
		want, got := ignoring("exec grep SigIgn /proc/self/status"), ignoring(`exec "$0" -q -s none -- grep SigIgn /proc/self/status`)
		if got != want {
			t.Errorf("ignoring %q: %q, without pgrab %q", signals, got, want)
		}
	}
}
