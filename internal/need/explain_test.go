package need

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// allCaps are those of root.
const allCaps = 1<<(CheckpointRestore+1) - 1

// mask is a set of capabilities.
func mask(all ...Capability) (m uint64) {
	for _, c := range all {
		m |= 1 << c
	}
	return m
}

// here returns a program of root in the first user namespace, with changes.
func here(change func(*Here)) *Here {
	h := &Here{Effective: allCaps, Bounding: allCaps, LastCap: int(CheckpointRestore), InFirst: true,
		sysctls:      func(string) (int, bool) { return 0, false },
		refusedCalls: func(Call) error { return nil }}
	change(h)
	return h
}

// sysctl sets one sysctl.
func sysctl(h *Here, name string, value int) {
	h.sysctls = func(asked string) (int, bool) { return value, asked == name }
}

// TestExplain: each thing that can be missing is told apart from the others.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		name    string
		feature *Feature
		err     error
		change  func(*Here)
		cause   Cause
		want    string
	}{
		{"user", &Timers, syscall.EACCES, func(h *Here) { h.UID, h.Effective = 1000, 0 }, NoCapability,
			"timers of the processors need CAP_BPF and CAP_PERFMON: permission denied (run it as root, or setcap cap_bpf,cap_perfmon+ep on its file)"},
		{"user, no_new_privs", &Timers, syscall.EACCES, func(h *Here) { h.UID, h.Effective, h.NoNewPrivs = 1000, 0, true }, NoCapability,
			"timers of the processors need CAP_BPF and CAP_PERFMON: permission denied (run it as root, or with CAP_BPF and CAP_PERFMON)"},
		{"one is missing", &Uprobes, syscall.EPERM, func(h *Here) { h.Effective = mask(BPF) }, NoCapability,
			"uprobes need CAP_BPF and CAP_PERFMON, and this program lacks CAP_PERFMON: operation not permitted (start it with CAP_PERFMON)"},
		{"container", &Uprobes, syscall.EPERM, func(h *Here) { h.Effective = 0; h.Bounding = mask(SysPtrace) }, NoCapability,
			"uprobes need CAP_BPF and CAP_PERFMON: operation not permitted (give the container or service CAP_BPF and CAP_PERFMON: docker run --cap-add BPF --cap-add PERFMON)"},
		{"before 5.8", &Uprobes, syscall.EPERM, func(h *Here) { h.UID, h.Effective, h.LastCap = 1000, 0, 37 }, NoCapability,
			"uprobes need CAP_SYS_ADMIN: operation not permitted (run it as root, or setcap cap_sys_admin+ep on its file)"},
		{"unprivileged_bpf_disabled", &Uprobes, syscall.EPERM,
			func(h *Here) { h.Effective = 0; sysctl(h, "kernel.unprivileged_bpf_disabled", 2) }, NoCapability,
			"uprobes need CAP_BPF and CAP_PERFMON, as kernel.unprivileged_bpf_disabled is 2: operation not permitted (start it with CAP_BPF and CAP_PERFMON)"},
		{"user namespace", &Timers, syscall.EACCES, func(h *Here) { h.InFirst = false }, UserNamespace,
			"timers of the processors need CAP_BPF and CAP_PERFMON in the first user namespace, and this program is in another: permission denied (run it outside of the rootless container, as root of the host)"},
		{"namespace of the target counts", &Foreigners, syscall.EPERM, func(h *Here) { h.InFirst = false }, Module, "grabs of other users' processes: a security module or"},
		{"filter", &Timers, syscall.EPERM, func(h *Here) {
			h.Filtered = true
			h.refusedCalls = func(c Call) error {
				if c == PerfEventOpen {
					return syscall.EPERM
				}
				return nil
			}
		}, Filter, "timers of the processors: a seccomp filter refuses perf_event_open(2): operation not permitted (give the container or service a seccomp profile that allows perf_event_open)"},
		{"filter of two calls, one in doubt", &Timers, syscall.EPERM, func(h *Here) {
			h.Filtered, h.Effective = true, 0
			sysctl(h, "kernel.unprivileged_bpf_disabled", 1)
			h.refusedCalls = func(Call) error { return syscall.EPERM }
		}, Filter, "timers of the processors: a seccomp filter refuses perf_event_open(2): operation not permitted (give the container or service a seccomp profile that allows perf_event_open and bpf, and CAP_BPF and CAP_PERFMON)"},
		{"filter, and capabilities", &Uprobes, syscall.EPERM, func(h *Here) {
			h.Filtered, h.Effective = true, 0
			h.refusedCalls = func(Call) error { return syscall.EPERM }
		}, Filter, "uprobes: a seccomp filter refuses bpf(2): operation not permitted (give the container or service a seccomp profile that allows bpf, and CAP_BPF and CAP_PERFMON)"},
		{"filter with ENOSYS", &Sockets, syscall.ENOSYS, func(h *Here) {
			h.Filtered = true
			h.refusedCalls = func(Call) error { return syscall.ENOSYS }
		}, Filter, "timeouts of sockets: a seccomp filter refuses pidfd_getfd(2): function not implemented (give"},
		{"not for want of the filter", &Uprobes, syscall.EPERM, func(h *Here) {
			h.Filtered, h.Effective = true, 0
			sysctl(h, "kernel.unprivileged_bpf_disabled", 1)
			h.refusedCalls = func(c Call) error {
				if c == BPFCall {
					return syscall.EPERM // also the kernel's before Linux 6.3
				}
				return nil
			}
		}, NoCapability, "uprobes need CAP_BPF"},
		{"old kernel", &Sockets, syscall.ENOSYS, func(*Here) {}, NoKernel, "timeouts of sockets need Linux 5.6: function not implemented"},
		{"lockdown", &Tasks, syscall.EINVAL, func(h *Here) { h.Lockdown = Confidentiality }, LockedDown,
			"iterators of threads: the kernel is locked down (confidentiality): invalid argument (boot it without lockdown=confidentiality)"},
		{"lockdown that allows it", &Tasks, syscall.EINVAL, func(h *Here) { h.Lockdown = Integrity }, NoKernel, "iterators of threads need Linux 5.15: invalid argument"},
		{"an instruction that cannot be probed", &Uprobes, syscall.EINVAL, func(*Here) {}, Unknown, "uprobes: invalid argument"},
		{"memlock", &Timers, fmt.Errorf("map: %w", &MemlockError{64 << 10}), func(*Here) {}, NoMemory,
			"timers of the processors: map: RLIMIT_MEMLOCK is 64 KiB and cannot be raised (start it with CAP_SYS_RESOURCE, or after ulimit -l unlimited)"},
		{"module", &Uprobes, syscall.EACCES, func(h *Here) { h.Modules = "selinux" }, Module,
			"uprobes: a security module refuses it: selinux: permission denied (look at the audit log)"},
		{"kptr_restrict", &KernelSymbols, fs.ErrPermission, func(h *Here) { sysctl(h, "kernel.kptr_restrict", 2) }, NoSysctl,
			"kernel symbols: kernel.kptr_restrict is 2: permission denied (sysctl kernel.kptr_restrict=1)"},
		{"perf_event_paranoid of Debian", &Timers, syscall.EACCES,
			func(h *Here) { h.Effective = mask(BPF, Perfmon); sysctl(h, "kernel.perf_event_paranoid", 3) }, NoSysctl,
			"timers of the processors: kernel.perf_event_paranoid is 3: permission denied (sysctl kernel.perf_event_paranoid=2, or start it with CAP_SYS_ADMIN)"},
		{"the same, without capabilities", &Timers, syscall.EACCES,
			func(h *Here) { h.Effective = 0; sysctl(h, "kernel.perf_event_paranoid", 3) }, NoCapability,
			"timers of the processors need CAP_BPF and CAP_PERFMON: permission denied (start it with CAP_BPF and CAP_PERFMON; kernels of Debian and Ubuntu take sysctl kernel.perf_event_paranoid=2 as well)"},
		{"something else", &Uprobes, syscall.EMFILE, func(*Here) {}, Unknown, "uprobes: too many open files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.feature.explain(c.err, here(c.change))
			if r.Cause != c.cause || !strings.HasPrefix(r.Error(), c.want) {
				t.Errorf("%v: %v\nwant %v: %v", r.Cause, r, c.cause, c.want)
			}
			if !errors.Is(r, c.err) {
				t.Error("it is not the kernel's error any more")
			}
		})
	}
}

// TestRootIsNotToldToBeRoot: whatever is missing, no remedy for root is to be root.
func TestRootIsNotToldToBeRoot(t *testing.T) {
	for _, f := range All {
		for _, change := range []func(*Here){
			func(*Here) {}, func(h *Here) { h.Effective = 0 }, func(h *Here) { h.Effective, h.Bounding = 0, 0 },
			func(h *Here) { h.Filtered = true }, func(h *Here) { h.Lockdown = Confidentiality },
			func(h *Here) { h.LastCap, h.Effective = 37, 0 },
		} {
			if r := f.explain(syscall.EPERM, here(change)); strings.Contains(r.Remedy, "as root") || r.Remedy == "" {
				t.Errorf("%v", r)
			}
		}
	}
}

// TestTable: features have names of their own, and capabilities those of capabilities(7).
func TestTable(t *testing.T) {
	var names []string
	for _, f := range All {
		if f.Name == "" || slices.Contains(names, f.Name) {
			t.Errorf("name %q", f.Name)
		}
		names = append(names, f.Name)
	}
	for c, name := range map[Capability]string{
		DACOverride: "CAP_DAC_OVERRIDE", DACReadSearch: "CAP_DAC_READ_SEARCH", NetAdmin: "CAP_NET_ADMIN", SysPtrace: "CAP_SYS_PTRACE",
		SysAdmin: "CAP_SYS_ADMIN", SysNice: "CAP_SYS_NICE", Syslog: "CAP_SYSLOG", Perfmon: "CAP_PERFMON", BPF: "CAP_BPF",
		CheckpointRestore: "CAP_CHECKPOINT_RESTORE",
	} {
		if c.String() != name {
			t.Errorf("capability %d is %v", c, c)
		}
	}
}

// TestExplainTwice: what is explained stays as it is.
func TestExplainTwice(t *testing.T) {
	once := Uprobes.Explain(syscall.EMFILE)
	if again := Timers.Explain(fmt.Errorf("open: %w", once)); again.Error() != "open: "+once.Error() {
		t.Error(again)
	}
	if err := Timers.Explain(nil); err != nil {
		t.Error(err)
	}
}
