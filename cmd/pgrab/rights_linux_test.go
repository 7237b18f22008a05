package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// refuse is the beginning of a command line under a seccomp filter that answers the calls with errno.
func refuse(t *testing.T, errno syscall.Errno, calls ...string) []string {
	argv := []string{publicCopy(t, ptest.BuildC(t, "refuse.c"))}
	for _, call := range calls {
		argv = append(argv, fmt.Sprintf("%s=%d", call, errno))
	}
	return append(argv, "--")
}

// confined runs a command line, and kills it when it takes so long that it must be stuck.
func confined(t *testing.T, argv ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r := runCommand(t, exec.CommandContext(ctx, argv[0], argv[1:]...))
	if ctx.Err() != nil {
		t.Errorf("%q does not end", argv)
	}
	return r
}

// TestFilteredPtrace: where a seccomp filter answers ptrace(2), as those of containers do, a grab ends
// at once and says so, whatever the errno is.
func TestFilteredPtrace(t *testing.T) {
	g := ptest.Start(t, "sleep", "1000")
	for _, errno := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.ENOSYS, syscall.ENOENT} {
		why := fmt.Sprintf("permission denied: a seccomp filter refuses ptrace(2) (%v)"+
			" (give the container or service a seccomp profile that allows ptrace)", errno)
		t.Run(strings.ReplaceAll(errno.Error(), " ", "_"), func(t *testing.T) {
			argv := append(refuse(t, errno, "ptrace"), pgrabPath(t), "-s", "none")
			expectRefusal(t, confined(t, append(argv, "-p", strconv.Itoa(g.PID))...), g.PID, why)
			r := confined(t, append(argv, "--", "/bin/true")...)
			if want := "pgrab: create /bin/true: " + why + "\n"; r.stderr != want || r.status != 1 {
				t.Errorf("exit status %d, stderr %q; want 1 and %q", r.status, r.stderr, want)
			}
		})
	}
	expectFree(t, g, "S")
}
