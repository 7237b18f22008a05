package check

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/perfevent"
	"ptools/internal/ptest"
)

// reportEnv makes the test binary print a report.
const reportEnv = "PTOOLS_CHECK_REPORT"

func TestMain(m *testing.M) {
	if os.Getenv(reportEnv) != "" {
		if err := (Request{JSON: true}).Write(context.Background(), os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ptest.Main(m)
}

// told is a report as a program reads it.
type told struct {
	Features []struct{ Feature, State, By, Cause, Why, Remedy string }
}

// reportOf has a report made by a command line that executes the test binary at its end.
func reportOf(t *testing.T, argv ...string) *told {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv = append(argv, exe)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), reportEnv+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", argv, err, out, stderr.String())
	}
	r := new(told)
	if err := json.Unmarshal(out, r); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return r
}

// made is the report of a child with all rights, once it was asked for.
var made *told

// whole returns that report.
func whole(t *testing.T) *told {
	t.Helper()
	if made == nil {
		made = reportOf(t)
	}
	return made
}

// TestTakenAway takes away one thing after the other. The lines about what needs it name it. All others are as before.
func TestTakenAway(t *testing.T) {
	ptest.Need(t, "setpriv")
	all := whole(t)
	before := make(map[string]string)
	b, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	paranoid := strings.TrimSpace(string(b))
	for _, l := range all.Features {
		before[l.Feature] = l.State
		if l.State != "yes" {
			t.Logf("here %s: %s: %s (%s)", l.Feature, l.State, l.Why, l.Remedy)
		}
	}
	if before[Uprobes] != "yes" || before[Timers] != "yes" {
		t.Skip("this test gives rights away, and there are few")
	}
	refuse := ptest.BuildC(t, "refuse.c")
	filter := func(call string, errno syscall.Errno) []string {
		return []string{refuse, fmt.Sprintf("%s=%d", call, errno), "--"}
	}
	without := func(caps string) []string { return []string{"setpriv", "--bounding-set", caps} }
	for _, c := range ptest.Some(t, []struct {
		name     string
		argv     []string
		cause    string
		features []string
		why      string
		remedy   string
	}{
		{"CAP_BPF and CAP_SYS_ADMIN", without("-cap_39,-cap_21"), "capability",
			[]string{Timers, Children, Threads, Peeks, Uprobes, Containers}, "this program lacks CAP_BPF", "docker run --cap-add BPF"},
		{"CAP_PERFMON and CAP_SYS_ADMIN", without("-cap_38,-cap_21"), "capability",
			[]string{Timers, Children, Threads, Peeks, Uprobes, Containers}, "this program lacks CAP_PERFMON", "docker run --cap-add PERFMON"},
		{"CAP_NET_ADMIN", without("-cap_12"), "capability", []string{Switches}, "need CAP_NET_ADMIN", "docker run --cap-add NET_ADMIN"},
		{"CAP_SYSLOG", without("-cap_34"), "capability", []string{Kernel}, "need CAP_SYSLOG", "docker run --cap-add SYSLOG"},
		{"CAP_SYS_PTRACE", without("-cap_19"), "capability", []string{Foreigners, Memory}, "CAP_SYS_PTRACE", "docker run --cap-add SYS_PTRACE"},
		{"CAP_CHECKPOINT_RESTORE", without("-cap_40,-cap_21"), "capability", []string{Lost}, "need CAP_CHECKPOINT_RESTORE", "--cap-add CHECKPOINT_RESTORE"},
		{"bpf", filter("bpf", syscall.EPERM), "seccomp", []string{Timers, Children, Threads, Peeks, Uprobes, Containers}, "a seccomp filter refuses bpf(2)", "allows bpf"},
		{"bpf as if unknown", filter("bpf", syscall.ENOSYS), "seccomp", []string{Timers, Children, Threads, Peeks, Uprobes, Containers}, "a seccomp filter refuses bpf(2)", "allows bpf"},
		{"perf_event_open", filter("perf_event_open", syscall.EPERM), "seccomp", ofEvents(before), "a seccomp filter refuses perf_event_open(2)", "allows perf_event_open"},
		{"pidfd_getfd", filter("pidfd_getfd", syscall.ENOSYS), "seccomp", []string{Sockets}, "a seccomp filter refuses pidfd_getfd(2)", "allows pidfd_getfd"},
		{"first user namespace", []string{"unshare", "-Ur"}, "user namespace",
			[]string{Timers, Children, Threads, Peeks, Uprobes, Containers, Switches, Kernel, Lost}, "in the first user namespace, and this program is in another", "as root of the host"},
	}, ptest.Rounds(1, 2, 100)) {
		t.Run(c.name, func(t *testing.T) {
			if c.argv[0] == "unshare" {
				ptest.NeedNamespaces(t, "-Ur")
			}
			if strings.Contains(strings.Join(c.argv, ""), "-cap_21") && before[Containers] == "yes" {
				c.features = append(c.features, Containers) // making namespaces needs CAP_SYS_ADMIN
				if paranoid > "2" {
					c.features = append(c.features, Children) // without timers
				}
			}
			affected := make(map[string]bool)
			for _, f := range c.features {
				affected[f] = true
			}
			for _, l := range reportOf(t, c.argv...).Features {
				if strings.Contains(l.Remedy, "as root") && c.remedy != "as root of the host" {
					t.Errorf("%s: root is told %q", l.Feature, l.Remedy)
				}
				if paranoid > "2" && l.Cause == "sysctl" && strings.Contains(strings.Join(c.argv, ""), "-cap_21") {
					continue // Debian's kernels take CAP_SYS_ADMIN there
				}
				if !affected[l.Feature] {
					if l.State != before[l.Feature] {
						t.Errorf("%s: %s, was %s: %s", l.Feature, l.State, before[l.Feature], l.Why)
					}
					continue
				}
				if l.Feature == Children || l.State == "untried" {
					continue
				}
				if l.State == "yes" || l.Cause != c.cause || !strings.Contains(l.Why, c.why) || !strings.Contains(l.Remedy, c.remedy) {
					t.Errorf("%s: %s, %s: %s (%s)", l.Feature, l.State, l.Cause, l.Why, l.Remedy)
				}
			}
		})
	}
}

// ofEvents returns the features that take perf events: uprobes too where they are no links.
func ofEvents(before map[string]string) []string {
	features := []string{Timers, Children}
	if before[Uprobes] == "yes" && perfevent.EndWithThread() {
		features = append(features, Uprobes, Containers)
	}
	return features
}

// TestProcess: a check looks at a process and leaves it as it was.
func TestProcess(t *testing.T) {
	g := ptest.Start(t, "sleep", "1000")
	r := &Report{PID: g.PID, Process: tryProcess(context.Background(), g.PID)}
	if len(r.Process) < 5 {
		t.Fatalf("%+v", r.Process)
	}
	works := make(map[string]bool)
	for _, l := range whole(t).Features {
		works[l.Feature] = l.State == Yes.String()
	}
	for _, l := range r.Process[:4] {
		own := cmp.Or(map[string]string{"grab": Grabs, "memory": Grabs}[l.Feature], l.Feature)
		if works[own] && l.State != Yes {
			t.Errorf("%s: %v: %s", l.Feature, l.State, l.Why)
		}
	}
	var text bytes.Buffer
	if err := r.Text(&text); err != nil || !strings.Contains(text.String(), fmt.Sprintf("\nprocess %d ", g.PID)) {
		t.Errorf("%v\n%s", err, text.String())
	}
	if none := tryProcess(context.Background(), 1<<22+1); none[2].State != No {
		t.Errorf("a process that is none: %+v", none)
	}
}
