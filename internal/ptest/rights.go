package ptest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// NeedNamespaces skips the test where unshare(1) may not make new namespaces with these flags.
func NeedNamespaces(t testing.TB, flags ...string) {
	t.Helper()
	Need(t, "unshare")
	if out, err := exec.Command("unshare", append(flags, "true")...).CombinedOutput(); err != nil {
		t.Skipf("unshare %q: %v, %s", flags, err, bytes.TrimSpace(out))
	}
}

// Nobody is the number of the ordinary user that tests become.
const Nobody = 65534

// NeedUsers skips the test where no process may be started as an ordinary user: without CAP_SETUID and CAP_SETGID.
func NeedUsers(t testing.TB) {
	t.Helper()
	Need(t, "true")
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Nobody, Gid: Nobody}}
	if err := cmd.Run(); errors.Is(err, fs.ErrPermission) {
		t.Skipf("a process of user %d: %v", Nobody, err)
	}
}

// NeedMapFiles skips the test where the links in /proc/PID/map_files may not be followed. Files that have no name any
// more are opened by them.
func NeedMapFiles(t testing.TB) {
	t.Helper()
	const dir = "/proc/self/map_files"
	maps, err := os.ReadDir(dir)
	if err == nil && len(maps) > 0 {
		_, err = os.Stat(dir + "/" + maps[0].Name())
	}
	if errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	}
}

// NeedStrict skips the test where no process can enter seccomp's strict mode, because a filter is in force.
func NeedStrict(t testing.TB) {
	t.Helper()
	if statusNumber(os.Getpid(), os.Getpid(), "Seccomp:") != 0 {
		t.Skip("a seccomp filter is in force, which strict mode cannot follow")
	}
}
