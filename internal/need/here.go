package need

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"ptools/internal/procfs"
)

// Here is what decides about this program and its kernel. A field whose file cannot be read has its zero value.
type Here struct {
	UID          int // effective
	Effective    uint64
	Bounding     uint64
	LastCap      int  // the last capability that the kernel knows
	InFirst      bool // this user namespace is the first one
	Filtered     bool // a seccomp filter is in force
	NoNewPrivs   bool
	Lockdown     Lockdown
	Modules      string // security modules that may refuse, and the profile of this program
	sysctls      func(name string) (int, bool)
	refusedCalls func(Call) error
}

// firstUserNamespace is the number of the first user namespace (PROC_USER_INIT_INO).
const firstUserNamespace = "user:[4026531837]"

// Now reads what decides now. Any goroutine may call it.
func Now() *Here {
	h := &Here{UID: os.Geteuid(), LastCap: int(SysAdmin), sysctls: readSysctl, refusedCalls: refusedBy}
	if st, err := procfs.ReadStatus(os.Getpid()); err == nil {
		h.Effective, h.Bounding, h.NoNewPrivs = st.CapEff, st.CapBnd, st.NoNewPrivs
	}
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		_, mode, _ := bytes.Cut(b, []byte("\nSeccomp:\t"))
		h.Filtered = len(mode) > 0 && mode[0] == '2'
	}
	if last, ok := readSysctl("kernel.cap_last_cap"); ok {
		h.LastCap = last
	}
	ns, _ := os.Readlink("/proc/self/ns/user")
	h.InFirst = ns == firstUserNamespace
	h.Lockdown = readLockdown()
	h.Modules = readModules()
	return h
}

// Sysctl returns a number of /proc/sys; false if there is none of this name.
func (h *Here) Sysctl(name string) (int, bool) { return h.sysctls(name) }

func readSysctl(name string) (int, bool) {
	b, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(b)))
	return n, err == nil
}

// readLockdown reads the file of securityfs, and, where that is not mounted, the kernel's command line.
func readLockdown() Lockdown {
	if b, err := os.ReadFile("/sys/kernel/security/lockdown"); err == nil {
		for l := Integrity; l <= Confidentiality; l++ {
			if bytes.Contains(b, []byte("["+l.String()+"]")) {
				return l
			}
		}
		return Unlocked
	}
	b, _ := os.ReadFile("/proc/cmdline")
	for word := range strings.FieldsSeq(string(b)) {
		for l := Integrity; l <= Confidentiality; l++ {
			if word == "lockdown="+l.String() {
				return l
			}
		}
	}
	return Unlocked
}

// readModules returns the names of the security modules that have rules for programs, with the profile of this one.
func readModules() string {
	b, err := os.ReadFile("/sys/kernel/security/lsm")
	var names []string
	for name := range strings.SplitSeq(string(bytes.TrimSpace(b)), ",") {
		switch name {
		case "", "capability", "lockdown", "yama", "integrity", "ima", "evm", "landlock", "safesetid", "loadpin":
		default:
			names = append(names, name)
		}
	}
	profile, perr := os.ReadFile("/proc/self/attr/current")
	text := string(bytes.TrimRight(profile, "\x00\n"))
	switch {
	case len(names) == 0 && (err == nil || perr != nil || text == ""):
		return ""
	case text != "" && text != "unconfined":
		return strings.TrimSpace(strings.Join(names, ", ") + " (this program's profile: " + text + ")")
	}
	return strings.Join(names, ", ")
}

// has reports whether this program has a capability.
func (h *Here) has(c Capability) bool { return h.Effective>>c&1 != 0 }

// known reports whether the kernel knows all capabilities of a set.
func (h *Here) known(set []Capability) bool {
	for _, c := range set {
		if int(c) > h.LastCap {
			return false
		}
	}
	return true
}
