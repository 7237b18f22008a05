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

// refuse returns the beginning of a command line that runs under a seccomp filter. The filter fails the calls
// with errno.
func refuse(t *testing.T, errno syscall.Errno, calls ...string) []string {
	argv := []string{publicCopy(t, ptest.BuildC(t, "refuse.c"))}
	for _, call := range calls {
		argv = append(argv, fmt.Sprintf("%s=%d", call, errno))
	}
	return append(argv, "--")
}

// confined runs a command line, and kills it if it takes so long that it must be stuck.
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

// TestFilteredPtrace: if a seccomp filter fails ptrace(2), as those of containers do, a grab ends at
// once and says so, whatever the errno is.
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

// capSysPtrace is the number of the capability.
const capSysPtrace = 19

// ptraceAlone runs a command line as another user whose only capability is CAP_SYS_PTRACE.
func ptraceAlone(t *testing.T, argv ...string) result {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: nobody, Gid: nobody},
		AmbientCaps: []uintptr{capSysPtrace},
	}
	return runCommand(t, cmd)
}

// ordinaryUser runs a command line as an ordinary user.
func ordinaryUser(t *testing.T, argv ...string) result {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = asNobody()
	return runCommand(t, cmd)
}

// TestPtraceAlone: CAP_SYS_PTRACE is enough to look at root's processes and to set breakpoints in them, even
// if seccomp denies perf_event_open, bpf and kcmp. A user's own processes need no capability. The target is
// unharmed. If /proc/PID/mem may not be opened, the guard cannot write to it, and pgrab says so.
func TestPtraceAlone(t *testing.T) {
	t.Parallel()
	needOrdinary(t)
	exe := publicCopy(t, ptest.BuildC(t, "hits.c"))
	filter := refuse(t, syscall.EPERM, "perf_event_open", "bpf", "kcmp")
	forks := []string{"-f", "1"}
	for _, tt := range []struct {
		name  string
		attr  *syscall.SysProcAttr // of the target
		run   func(t *testing.T, argv ...string) result
		argv  []string
		forks []string // without kcmp(2) a child cannot be distinguished from one that shares the memory
		guard bool
	}{
		{"capability", nil, ptraceAlone, nil, forks, false},
		{"capability and filter", nil, ptraceAlone, filter, nil, false},
		{"own process", asNobody(), ordinaryUser, nil, forks, true},
		{"own process and filter", asNobody(), ordinaryUser, filter, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const threads = 3
			g := ptest.StartWith(t, &ptest.Options{Attr: tt.attr},
				append([]string{exe, "-t", strconv.Itoa(threads), "-p", "2000"}, tt.forks...)...)
			g.Ready()
			argv := append(append([]string{}, tt.argv...), publicPgrab(t), "-p", strconv.Itoa(g.PID))
			r := tt.run(t, append(argv, "--each")...)
			if n := strings.Count(r.stdout, "start_thread"); r.status != 0 || n != threads || !strings.Contains(r.stdout, " main+") {
				t.Errorf("--each: exit status %d, %d of %d threads with a stack", r.status, n, threads)
			}
			r = tt.run(t, append(argv, "-s", "none", "-b", "hot", "-t", "300ms")...)
			if n := strings.Count(r.stdout, " hit hot+0 in hits "); r.status != 0 || n == 0 { // how many depends on the machine's load
				t.Errorf("-b: exit status %d, %d hits", r.status, n)
			}
			if guarded := !strings.Contains(r.stderr, "without a guard (/proc/PID/mem may not be opened"); guarded != tt.guard {
				t.Errorf("there is a guard: %v, want %v", guarded, tt.guard)
			}
			if out, state := g.Finish(); !state.Success() || out != fmt.Sprintf("done %d\n", threads) {
				t.Errorf("ended with %v, printed %q", state, out)
			}
		})
	}
}

// TestLeaderGoneOfUser: an ordinary user grabs a process of the same user whose first thread has ended, although
// the files of that thread in /proc belong to root.
func TestLeaderGoneOfUser(t *testing.T) {
	t.Parallel()
	needOrdinary(t)
	g := ptest.StartWith(t, &ptest.Options{Attr: asNobody()}, publicCopy(t, ptest.BuildC(t, "leaderdead.c")))
	g.Ready()
	r := ordinaryUser(t, publicPgrab(t), "-w", "-t", "0", "-p", strconv.Itoa(g.PID))
	if r.status != 0 || r.stderr != "" || !strings.Contains(r.stdout, " survivor+") {
		t.Errorf("exit status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
	expectFree(t, g, "Z")
	if _, state := g.Finish(); !state.Success() {
		t.Errorf("it ends with %v", state)
	}
}
