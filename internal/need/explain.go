package need

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

// A Cause is the kind of thing that is missing.
type Cause uint8

const (
	Unknown       Cause = iota // not a refusal that can be explained: Err says all
	NoKernel                   // the kernel does not have it
	NoCapability               // a capability is missing
	UserNamespace              // the capabilities are those of a user namespace that does not count
	Filter                     // a seccomp filter answers
	LockedDown                 // the kernel is locked down
	NoMemory                   // RLIMIT_MEMLOCK
	NoSysctl                   // a sysctl
	Module                     // a security module, or something else that nothing tells about
)

var causeNames = [...]string{"unknown", "kernel", "capability", "user namespace", "seccomp", "lockdown", "memlock", "sysctl", "security module"}

// String returns a word for it.
func (c Cause) String() string { return causeNames[c] }

// A Refusal is the error of a feature that could not be had.
type Refusal struct {
	Feature *Feature
	Cause   Cause
	Why     string // what is missing
	Remedy  string // what the user can do; may be empty
	Err     error  // of the kernel
}

func (r *Refusal) Error() string {
	s := r.Feature.Name
	switch {
	case strings.HasPrefix(r.Why, "need "):
		s += " " + r.Why
	case r.Why != "":
		s += ": " + r.Why
	}
	s += ": " + r.Err.Error()
	if r.Remedy != "" {
		s += " (" + r.Remedy + ")"
	}
	return s
}

func (r *Refusal) Unwrap() error { return r.Err }

// A MemlockError says that RLIMIT_MEMLOCK keeps the kernel from making a BPF map. It is an [fs.ErrPermission].
type MemlockError struct{ Limit uint64 } // bytes

func (e *MemlockError) Error() string {
	return fmt.Sprintf("RLIMIT_MEMLOCK is %d KiB and cannot be raised", e.Limit>>10)
}

// Is reports whether the error is a target.
func (*MemlockError) Is(target error) bool { return target == fs.ErrPermission }

// Explain returns err, the error with which a feature was refused, as a [Refusal] with its cause. It returns nil for nil,
// and a Refusal as it is. It reads files of /proc and makes system calls that have no effect. Any goroutine may call it.
func (f *Feature) Explain(err error) error {
	var told *Refusal
	if err == nil || errors.As(err, &told) {
		return err
	}
	return f.explain(err, Now())
}

func (f *Feature) explain(err error, h *Here) *Refusal {
	r := &Refusal{Feature: f, Err: err}
	var limit *MemlockError
	switch {
	case errors.As(err, &limit):
		r.Cause, r.Remedy = NoMemory, "start it with CAP_SYS_RESOURCE, or after ulimit -l unlimited"
	case f.byFilter(r, h):
	case errors.Is(err, errors.ErrUnsupported):
		r.Cause = NoKernel
		if f.Linux != "" && errors.Is(err, syscall.ENOSYS) {
			r.Why = "need Linux " + f.Linux
		}
	case !errors.Is(err, fs.ErrPermission):
		// Helpers that read the kernel's memory are unknown to a kernel that is locked down: the program is invalid.
		if !f.byLockdown(r, h) && f.Odd && errors.Is(err, syscall.EINVAL) {
			r.Cause, r.Why = NoKernel, "need Linux "+f.Linux
		}
	case f.bySysctl(r, h):
	case f.byCapability(r, h):
	case f.byParanoid(r, h):
	case f.byLockdown(r, h):
	default:
		r.Cause, r.Why, r.Remedy = Module, "a security module or a seccomp filter refuses it", "look at the audit log"
		if h.Modules != "" && !h.Filtered {
			r.Why = "a security module refuses it: " + h.Modules
		}
	}
	return r
}

// byFilter fills in a refusal by a seccomp filter.
func (f *Feature) byFilter(r *Refusal, h *Here) bool {
	if !h.Filtered {
		return false
	}
	var certain, all []string
	for _, c := range f.Calls {
		err := h.refusedCalls(c)
		if err == nil {
			continue
		}
		all = append(all, c.String())
		if c != BPFCall || err != syscall.EPERM || h.hasOne(f.Sets) || !h.bpfDisabled() { // else the kernel may say so as well
			certain = append(certain, c.String()+"(2)")
		}
	}
	if len(certain) == 0 {
		return false
	}
	r.Cause, r.Why = Filter, "a seccomp filter refuses "+and(certain)
	r.Remedy = "give the container or service a seccomp profile that allows " + and(all)
	if _, missing := h.missing(f.Sets); len(missing) > 0 {
		r.Remedy += ", and " + names(missing)
	}
	return true
}

func (h *Here) bpfDisabled() bool {
	n, ok := h.Sysctl("kernel.unprivileged_bpf_disabled")
	return ok && n != 0
}

// bySysctl fills in a refusal by a sysctl.
func (f *Feature) bySysctl(r *Refusal, h *Here) bool {
	_, missing := h.missing(f.Sets)
	for _, s := range []Sysctl{f.Shut, f.Open} {
		if s.Name == "" || s == f.Open && len(missing) == 0 {
			continue
		}
		if n, ok := h.Sysctl(s.Name); ok && n > s.Most {
			r.Cause, r.Why = NoSysctl, fmt.Sprintf("%s is %d", s.Name, n)
			r.Remedy = fmt.Sprintf("sysctl %s=%d", s.Name, s.Most)
			if s == f.Open && h.InFirst {
				r.Remedy += ", or " + h.grant(missing)
			}
			return true
		}
	}
	return false
}

// byCapability fills in a refusal for want of capabilities.
func (f *Feature) byCapability(r *Refusal, h *Here) bool {
	set, missing := h.missing(f.Sets)
	switch {
	case len(set) == 0:
		return false
	case f.First && !h.InFirst:
		r.Cause, r.Why = UserNamespace, fmt.Sprintf("need %s in the first user namespace, and this program is in another", names(set))
		r.Remedy = "run it outside of the rootless container, as root of the host"
		return true
	case len(missing) == 0:
		return false
	}
	r.Cause, r.Why, r.Remedy = NoCapability, "need "+names(set), h.grant(missing)
	if len(missing) < len(set) {
		r.Why += ", and this program lacks " + names(missing)
	}
	if f.shutByParanoid(h) {
		r.Remedy += "; kernels of Debian and Ubuntu take sysctl kernel.perf_event_paranoid=2 as well"
	}
	if missing[0] == BPF && h.bpfDisabled() {
		n, _ := h.Sysctl("kernel.unprivileged_bpf_disabled")
		r.Why += fmt.Sprintf(", as kernel.unprivileged_bpf_disabled is %d", n)
	}
	return true
}

// shutByParanoid reports whether a kernel with a change that Debian and Ubuntu make refuses perf_event_open(2) to all who lack
// CAP_SYS_ADMIN: with kernel.perf_event_paranoid above 2. Others know no such value.
func (f *Feature) shutByParanoid(h *Here) bool {
	n, ok := h.Sysctl("kernel.perf_event_paranoid")
	return ok && n > 2 && !h.has(SysAdmin) && slices.Contains(f.Calls, PerfEventOpen)
}

// byParanoid fills in a refusal of that kind.
func (f *Feature) byParanoid(r *Refusal, h *Here) bool {
	if !f.shutByParanoid(h) {
		return false
	}
	n, _ := h.Sysctl("kernel.perf_event_paranoid")
	r.Cause, r.Why = NoSysctl, fmt.Sprintf("kernel.perf_event_paranoid is %d", n)
	r.Remedy = "sysctl kernel.perf_event_paranoid=2, or " + h.grant([]Capability{SysAdmin})
	return true
}

// byLockdown fills in a refusal by a kernel that is locked down.
func (f *Feature) byLockdown(r *Refusal, h *Here) bool {
	if f.Until == Unlocked || h.Lockdown < f.Until {
		return false
	}
	r.Cause, r.Why = LockedDown, fmt.Sprintf("the kernel is locked down (%v)", h.Lockdown)
	r.Remedy = fmt.Sprintf("boot it without lockdown=%v", h.Lockdown)
	return true
}

// hasOne reports whether this program has all capabilities of one of the sets, or none is needed.
func (h *Here) hasOne(sets [][]Capability) bool {
	set, missing := h.missing(sets)
	return len(set) == 0 || len(missing) == 0
}

// missing returns a set that this program has, or else the first one that the kernel knows, and what it lacks of it.
func (h *Here) missing(sets [][]Capability) (set, missing []Capability) {
	for _, s := range sets {
		if !h.known(s) {
			continue
		}
		var lacks []Capability
		for _, c := range s {
			if !h.has(c) {
				lacks = append(lacks, c)
			}
		}
		if set == nil || len(lacks) == 0 && len(missing) != 0 {
			set, missing = s, lacks
		}
	}
	return set, missing
}

// Grant says how this program can get capabilities. Root is never told to be root.
func Grant(missing ...Capability) string { return Now().grant(missing) }

func (h *Here) grant(missing []Capability) string {
	var short []string
	for _, c := range missing {
		short = append(short, strings.TrimPrefix(c.String(), "CAP_"))
		if h.Bounding>>c&1 == 0 {
			return "give the container or service " + names(missing) + ": " + addCaps(missing)
		}
	}
	switch {
	case h.UID == 0:
		return "start it with " + names(missing)
	case h.NoNewPrivs:
		return "run it as root, or with " + names(missing)
	}
	for i, s := range short {
		short[i] = "cap_" + strings.ToLower(s)
	}
	return fmt.Sprintf("run it as root, or setcap %s+ep on its file", strings.Join(short, ","))
}

// addCaps returns the flags of docker run, which podman has as well.
func addCaps(list []Capability) string {
	s := "docker run"
	for _, c := range list {
		s += " --cap-add " + strings.TrimPrefix(c.String(), "CAP_")
	}
	return s
}

// names joins the names of capabilities.
func names(list []Capability) string {
	var all []string
	for _, c := range list {
		all = append(all, c.String())
	}
	return and(all)
}

// and joins words.
func and(all []string) string {
	if n := len(all) - 1; n > 0 {
		return strings.Join(all[:n], ", ") + " and " + all[n]
	}
	return strings.Join(all, "")
}
