package check

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestOldKernels: a filter answers as kernels do that lack a system call, or some of its arguments. Everything works, by
// the mechanism of such a kernel.
func TestOldKernels(t *testing.T) {
	before := make(map[string]string)
	for _, l := range whole(t).Features {
		before[l.Feature] = l.State + ", " + l.By
	}
	if before[Uprobes] != "yes, BPF links (uprobe_multi)" || before[Threads] != "yes, a BPF iterator of tasks" {
		t.Skip("this is an old kernel, or there are few rights")
	}
	const events = "yes, perf events, each with a BPF program"
	for _, c := range ptest.Some(t, []struct {
		name  string
		calls map[string]syscall.Errno
		want  map[string]string // what differs
	}{
		{"5.4", map[string]syscall.Errno{
			"pidfd_getfd": syscall.ENOSYS, "openat2": syscall.ENOSYS, "close_range": syscall.ENOSYS, "pidfd_open_nonblock": syscall.EINVAL,
			"pidfd_open_thread": syscall.EINVAL, "bpf_link": syscall.EINVAL, "bpf_iter": syscall.EINVAL, "bpf_run": syscall.EINVAL,
		}, map[string]string{
			Uprobes: events, Threads: "instead, files of /proc, thread by thread", Peeks: "instead, such holders have no stacks with --blame",
			Sockets: "instead, their timeouts start anew at every stop",
		}},
		{"5.10", map[string]syscall.Errno{"pidfd_open_thread": syscall.EINVAL, "clone3": syscall.ENOSYS}, nil},
		{"no BPF links", map[string]syscall.Errno{"bpf_link": syscall.EINVAL}, map[string]string{
			Uprobes: events, Threads: "instead, files of /proc, thread by thread",
		}},
		{"no process_vm_readv", map[string]syscall.Errno{"process_vm_readv": syscall.ENOSYS, "kcmp": syscall.ENOSYS}, nil},
	}, ptest.Rounds(1, 1, 100)) {
		t.Run(c.name, func(t *testing.T) {
			argv := []string{ptest.BuildC(t, "refuse.c")}
			for _, call := range slices.Sorted(maps.Keys(c.calls)) {
				argv = append(argv, fmt.Sprintf("%s=%d", call, c.calls[call]))
			}
			for _, l := range reportOf(t, append(argv, "--")...).Features {
				want := before[l.Feature]
				if c.want[l.Feature] != "" {
					want = c.want[l.Feature]
				}
				if got := l.State + ", " + l.By; got != want {
					t.Errorf("%s: %s: %s\nwant %s", l.Feature, got, l.Why, want)
				}
			}
		})
	}
}
