package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

const capNetRaw = 13

// denials are causes for which the kernel denies a process to an ordinary user, or to one with fewer
// rights, and what pgrab says. start starts such a process and returns how pgrab is run.
var denials = []struct {
	name, want string
	start      func(t *testing.T) (pid int, run func(*testing.T, ...string) result)
}{
	{"another user", "the process belongs to uid 0 and this is uid 65534 (run as that user, as root or with CAP_SYS_PTRACE)",
		func(t *testing.T) (int, func(*testing.T, ...string) result) {
			return ptest.Start(t, "sleep", "1000").PID, ordinaryUser
		}},
	{"set-user-ID", "the process belongs to uid 1 and this is uid 65534", startSetID(os.ModeSetuid)},
	{"set-group-ID", "the process runs with gid 1 and this is gid 65534", startSetID(os.ModeSetgid)},
	{"saved user", "the process has changed its user (real 65534, effective 65534, saved 0) (run as root", startSecretive(nil, "user")},
	{"another group", "the process runs with gid 7 and this is gid 65534 (run as root",
		startSecretive(&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: 7}}, "")},
	{"undumpable", "the process is not dumpable (its program is set-id or may not be read, or it asked for that by prctl)",
		startSecretive(asNobody(), "undumpable")},
	{"unreadable program", "the process is not dumpable (its program is set-id or may not be read", startUnreadable},
	{"capabilities", "the process has capabilities that this one lacks", startSecretive(withNetRaw(), "")},
	{"permitted capabilities", "the process has capabilities that this one lacks", startSecretive(withNetRaw(), "dropped")},
	{"user namespace", "the process is in another user namespace",
		func(t *testing.T) (int, func(*testing.T, ...string) result) {
			ptest.NeedNamespaces(t, "-Ur")
			return ptest.Start(t, "sleep", "1000").PID, func(t *testing.T, argv ...string) result {
				return runCommand(t, exec.Command("unshare", append([]string{"-Ur", "--"}, argv...)...))
			}
		}},
	{"filtered memory", "a seccomp filter refuses process_vm_readv(2), and /proc/PID/mem is for uid 0 only (give the container",
		func(t *testing.T) (int, func(*testing.T, ...string) result) {
			filter := refuse(t, syscall.EPERM, "process_vm_readv")
			return ptest.Start(t, "sleep", "1000").PID, func(t *testing.T, argv ...string) result {
				return ptraceAlone(t, append(filter, argv...)...)
			}
		}},
}

func withNetRaw() *syscall.SysProcAttr {
	a := asNobody()
	a.AmbientCaps = []uintptr{capNetRaw}
	return a
}

func startSecretive(attr *syscall.SysProcAttr, kind string) func(*testing.T) (int, func(*testing.T, ...string) result) {
	return func(t *testing.T) (int, func(*testing.T, ...string) result) {
		exe := publicCopy(t, ptest.BuildC(t, "secretive.c"))
		g := ptest.StartWith(t, &ptest.Options{Attr: attr}, exe, "-k", kind, "-u", strconv.Itoa(nobody))
		g.Ready()
		return g.PID, ordinaryUser
	}
}

// startSetID starts a program that belongs to user or group 1, and runs with the rights of that.
func startSetID(mode os.FileMode) func(*testing.T) (int, func(*testing.T, ...string) result) {
	return func(t *testing.T) (int, func(*testing.T, ...string) result) {
		exe := publicCopy(t, ptest.BuildC(t, "secretive.c"))
		if err := os.Chown(exe, 1, 1); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(exe, mode|0o755); err != nil {
			t.Fatal(err)
		}
		g := ptest.StartWith(t, &ptest.Options{Attr: asNobody()}, exe)
		g.Ready()
		if st, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.PID)); err != nil || !strings.Contains(string(st), "\t65534\t1\t1\t1\n") {
			t.Skipf("set-ID has no effect: %s is mounted nosuid, or no_new_privs is set", filepath.Dir(exe))
		}
		return g.PID, ordinaryUser
	}
}

func startUnreadable(t *testing.T) (int, func(*testing.T, ...string) result) {
	exe := publicCopy(t, ptest.BuildC(t, "secretive.c"))
	if err := os.Chmod(exe, 0o111); err != nil {
		t.Fatal(err)
	}
	g := ptest.StartWith(t, &ptest.Options{Attr: asNobody()}, exe)
	g.Ready()
	return g.PID, ordinaryUser
}

// TestDenied: pgrab names the cause for which the kernel denies it a process.
func TestDenied(t *testing.T) {
	needOrdinary(t)
	path := publicPgrab(t)
	for _, d := range denials {
		t.Run(d.name, func(t *testing.T) {
			pid, run := d.start(t)
			r := run(t, path, "-s", "none", "-t", "0", "-p", strconv.Itoa(pid))
			want := fmt.Sprintf("pgrab: grab %d: permission denied: %s", pid, strings.ReplaceAll(d.want, "PID", strconv.Itoa(pid)))
			if r.status != 1 || !strings.HasPrefix(r.stderr, want) || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("exit status %d, stderr %q; want 1 and %q", r.status, r.stderr, want)
			}
		})
	}
}

// TestFewDescriptors: if there are too few descriptors, pgrab gives that as the reason, however many
// are missing.
func TestFewDescriptors(t *testing.T) {
	g := ptest.Start(t, "sleep", "1000")
	path, refused := pgrabPath(t), 0
	for limit := 10; limit <= 14; limit++ { // with fewer Go ends in epoll_create
		r := runCommand(t, exec.Command("sh", "-c", `ulimit -n "$1" && exec "$0" -q -s none -t 0 -p "$2"`,
			path, strconv.Itoa(limit), strconv.Itoa(g.PID)))
		switch {
		case r.status == 0:
		case r.status != 1 || !strings.Contains(r.stderr, "too many open files"):
			t.Errorf("with %d descriptors: exit status %d, %q", limit, r.status, r.stderr)
		default:
			refused++
		}
	}
	if refused == 0 {
		t.Error("none was refused")
	}
	for limit := 12; limit <= 24; limit++ {
		r := runCommand(t, exec.Command("sh", "-c", `ulimit -n "$1" && exec "$0" -q -w -H 0 -t 0 -p "$2"`,
			path, strconv.Itoa(limit), strconv.Itoa(g.PID)))
		switch {
		case r.status == 0 && strings.Contains(r.stdout, " __libc_start_main"):
		case r.status != 1 || !strings.Contains(r.stderr, "too many open files"):
			t.Errorf("with %d descriptors: exit status %d, %q, and names are missing: %q", limit, r.status, r.stderr, r.stdout)
		}
	}
	expectFree(t, g, "S")
}
