package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// inNewNamespace runs a shell script as the first process of a PID namespace,
// which still has the /proc of our namespace.
func inNewNamespace(t *testing.T, script string, args ...string) result {
	t.Helper()
	needNamespaces(t)
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	return runCommand(t, cmd)
}

// TestBystanderOfAnotherNamespace has pgrab grab a process whose number in
// /proc is that of another process. Breakpoints would be written to the memory
// of the other, which would not survive its next write.
func TestBystanderOfAnotherNamespace(t *testing.T) {
	const script = `echo $(($2 - 1)) >/proc/sys/kernel/ns_last_pid
sleep 1000 &
pid=$!
[ $pid = $2 ] || echo "the namesake is $pid"
$1 -s none -t 0.1 -b write --trap int3 -p $pid
status=$?
kill $pid
exit $status`
	bystander := ptest.Start(t, "sh", "-c", "while read line; do echo $line; done")
	pid := strconv.Itoa(bystander.PID)
	expectRefusal(t, inNewNamespace(t, script, pgrabPath(t), pid), bystander.PID,
		"/proc is that of another PID namespace (mount that of our own: mount -t proc proc /proc, or unshare --mount-proc)")
	fmt.Fprintln(bystander.Stdin, "unharmed")
	if got := bystander.Line(); got != "unharmed" {
		t.Errorf("the bystander says %q", got)
	}
}

// TestWithoutProc runs commands whose processes are not in /proc.
func TestWithoutProc(t *testing.T) {
	for _, tt := range []struct{ before, reason string }{
		{"", "/proc is that of another PID namespace"},
		{"mount --make-rprivate / && umount -l /proc && ", "no /proc is mounted"},
	} {
		r := inNewNamespace(t, tt.before+`exec "$@"`, pgrabPath(t), "-H", "0", "--", "true")
		want := "pgrab: create /usr/bin/true: " + tt.reason
		// The race detector prints lines of its own if there is no /proc.
		if !strings.Contains("\n"+r.stderr, "\n"+want) || r.stdout != "" || r.status != 1 {
			t.Errorf("exit status %d, stdout %q, stderr %q; want 1 and %q", r.status, r.stdout, r.stderr, want)
		}
	}
	r := inNewNamespace(t, `mount --make-rprivate / && mount -t proc proc /proc && exec "$@"`,
		pgrabPath(t), "-q", "-H", "0", "-s", "main", "--", "sh", "-c", "exit 3")
	if r.status != 3 || r.stderr != "" {
		t.Errorf("with a /proc of its own: exit status %d, %q", r.status, r.stderr)
	}
}
