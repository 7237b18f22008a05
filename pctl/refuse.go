package pctl

import (
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"ptools/internal/mem"
	"ptools/internal/need"
	"ptools/internal/procfs"
	"ptools/pctl/control"
)

// facts is what can be known of a process and of ourselves, before a grab or
// after the kernel has refused one. The methods that judge it read nothing
// else.
type facts struct {
	pid, self int // the process asked for; our own

	proc error // why nothing is known from /proc: it shows other processes (procfs.CheckOwn), or there is no descriptor to read it

	tgid    int  // the process that pid is a thread of; 0: nothing runs there
	state   byte // as in /proc/PID/stat
	threads int
	kernel  bool // a kernel thread

	tracer     int // pid of the tracer, in our pid namespace; 0: none, or not visible from here
	tracerName string

	class elf.Class // of the executable; ELFCLASSNONE where it cannot be read

	uid, gid     [4]int // real, effective, saved, file system
	owner        int    // of the files in /proc/PID; it differs from uid[1] if the process is not dumpable
	caps         uint64 // its permitted capabilities
	ourUID       int    // effective
	ourGID       int
	ourCaps      uint64
	foreign      bool // its user namespace maps other users than ours does
	yama         int  // kernel.yama.ptrace_scope; 0 without Yama
	yamaExempted bool // it is our descendant
}

// zombie reports that the whole process has ended, not only its leader.
func (f *facts) zombie() bool {
	return (f.state == 'Z' || f.state == 'X') && f.threads <= 1
}

// check refuses what needs no attempt. A read-only grab of our own process or
// of a traced one is allowed: it stops nothing.
func (f *facts) check(readOnly bool) error {
	switch {
	case f.proc != nil:
		return noProc(f.proc)
	case f.tgid == 0:
		return ErrNoProcess
	case f.tgid == f.self && !readOnly:
		return ErrSelf
	case f.tgid != f.pid:
		return refuse(ErrThread, "grab "+strconv.Itoa(f.tgid), "not a process but a thread of process %d", f.tgid)
	case f.kernel:
		return refuse(ErrKernelThread, "", "kernel thread: it has no user memory and cannot be traced")
	case f.zombie():
		return refuse(ErrZombie, "", "process is a zombie: it has ended and waits for its parent")
	case f.tracer != 0 && !readOnly:
		return f.traced()
	case f.class == elf.ELFCLASS32:
		return refuse(Err32Bit, "", "32-bit process: only 64-bit x86-64 processes are supported")
	}
	return nil
}

// errHidden refuses a process that lives and that /proc does not show.
var errHidden = denied("run as root, or as a member of the group that is in its option gid=",
	"permission denied: /proc hides processes of other users (it is mounted with hidepid)")

// noProc refuses everything where /proc does not show the processes that our
// system calls are about. Otherwise the memory of another process would be read
// and written.
func noProc(cause error) error {
	if !errors.Is(cause, procfs.ErrNotMounted) && !errors.Is(cause, procfs.ErrForeign) {
		return cause
	}
	return refuse(ErrNoProc, "mount that of our own: mount -t proc proc /proc, or unshare --mount-proc", "%v", cause)
}

func (f *facts) traced() error {
	name := f.tracerName
	if name == "" {
		name = "unknown"
	}
	return refuse(ErrTraced, "", "process is traced by pid %d (%s)", f.tracer, name)
}

// diagnose finds the cause behind an error of attaching or of opening. It
// returns an error that it does not recognise as it is.
func (f *facts) diagnose(err error, readOnly bool) error {
	if cause := f.check(readOnly); cause != nil {
		return cause
	}
	var filter *control.FilterError
	switch {
	case errors.Is(err, mem.ErrFiltered):
		return f.unread()
	case errors.As(err, &filter):
		return byFilter(filter)
	case errors.Is(err, fs.ErrPermission):
		return f.permission()
	case errors.Is(err, syscall.ESRCH), errors.Is(err, fs.ErrNotExist):
		return ErrNoProcess
	}
	return err
}

// permission walks the kernel's own checks in their order (ptrace(2), Ptrace
// access mode checking; Documentation/admin-guide/LSM/Yama.rst) to the first
// that explains the refusal.
func (f *facts) permission() error {
	asRoot := "run as root or with CAP_SYS_PTRACE"
	if f.ourUID == 0 {
		asRoot = need.Grant(need.SysPtrace)
	}
	capable := f.ourCaps>>procfs.CapSysPtrace&1 != 0
	switch {
	case f.yama >= 3:
		return denied("it can be lifted only by a reboot",
			"permission denied: tracing is switched off on this system (kernel.yama.ptrace_scope=%d)", f.yama)
	case f.foreign && (capable || !f.sameUser()):
		return denied("run as root of the first user namespace, or enter the process's own with nsenter -U",
			"permission denied: the process is in another user namespace")
	case capable:
		return denied("look at the audit log, or give the container CAP_SYS_PTRACE and a seccomp profile that allows ptrace",
			byModule)
	case !f.sameUser() && f.uid[1] == f.ourUID:
		return denied(asRoot, "permission denied: the process has changed its user (real %d, effective %d, saved %d)",
			f.uid[0], f.uid[1], f.uid[2])
	case !f.sameUser():
		if f.ourUID != 0 {
			asRoot = "run as that user, as root or with CAP_SYS_PTRACE"
		}
		return denied(asRoot,
			"permission denied: the process belongs to uid %d and this is uid %d", f.uid[1], f.ourUID)
	case !f.sameGroup() && f.gid[1] == f.ourGID:
		return denied(asRoot, "permission denied: the process has changed its group (real %d, effective %d, saved %d)",
			f.gid[0], f.gid[1], f.gid[2])
	case !f.sameGroup():
		return denied(asRoot, "permission denied: the process runs with gid %d and this is gid %d", f.gid[1], f.ourGID)
	case f.owner != f.uid[1]:
		return denied(asRoot, "permission denied: the process is not dumpable (its program is set-id or may not be read, or it asked for that by prctl)")
	case f.caps&^f.ourCaps != 0:
		return denied(asRoot, "permission denied: the process has capabilities that this one lacks")
	case f.yama == 2:
		return denied(asRoot, "permission denied: kernel.yama.ptrace_scope=2 asks for CAP_SYS_PTRACE")
	case f.yama == 1 && !f.yamaExempted:
		return denied(asRoot+", or sysctl kernel.yama.ptrace_scope=0",
			"permission denied: kernel.yama.ptrace_scope=1 allows only one's own descendants")
	}
	return denied("look at the audit log", byModule)
}

// byFilter refuses because a filter forbids calls of ptrace(2) for any process.
func byFilter(e *control.FilterError) error {
	return denied("give the container or service a seccomp profile that allows ptrace",
		"permission denied: a seccomp filter refuses ptrace(2) (%v)", e.Errno)
}

// unread refuses a process whose memory may not be read although it may be traced.
func (f *facts) unread() error {
	return denied("give the container a seccomp profile that allows process_vm_readv, or CAP_DAC_OVERRIDE",
		"permission denied: a seccomp filter refuses process_vm_readv(2), and /proc/%d/mem is for uid %d only", f.pid, f.owner)
}

// byModule is the reason of a refusal that nothing else explains.
const byModule = "permission denied by a security module or a seccomp filter"

// sameUser is the kernel's test: our user must be the process's real,
// effective and saved one.
func (f *facts) sameUser() bool {
	return f.uid[0] == f.ourUID && f.uid[1] == f.ourUID && f.uid[2] == f.ourUID
}

func (f *facts) sameGroup() bool {
	return f.gid[0] == f.ourGID && f.gid[1] == f.ourGID && f.gid[2] == f.ourGID
}

// readFacts reads the facts about pid from /proc that check and diagnose ask for. What cannot
// be read keeps its zero value, which gives no reason.
func readFacts(pid int) *facts {
	f := glance(pid)
	if f.tgid != 0 {
		f.readReasons()
	}
	return f
}

// glance reads the facts that check asks for. It runs before every grab, few of which are
// refused, so it reads no more.
func glance(pid int) *facts {
	f := &facts{pid: pid, self: os.Getpid(), ourUID: os.Geteuid(), ourGID: os.Getegid()}
	if f.proc = procfs.CheckOwn(); f.proc != nil || pid <= 0 {
		return f
	}
	f.readTarget()
	return f
}
