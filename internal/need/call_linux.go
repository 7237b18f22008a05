package need

import (
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refusedBy returns the error with which a call fails before the kernel looks at its arguments; nil if it does look. Each is
// made in a way that does nothing, and that the kernel itself answers with an error of its own.
func refusedBy(c Call) error {
	switch c {
	case BPFCall:
		// No map has this descriptor. Without CAP_BPF the answer is EPERM where kernel.unprivileged_bpf_disabled is set
		// (before Linux 6.3): then nothing is known of a filter.
		attr := struct {
			fd, _             uint32
			key, value, flags uint64
		}{fd: math.MaxUint32}
		_, _, e := unix.Syscall(unix.SYS_BPF, unix.BPF_MAP_LOOKUP_ELEM, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		return other(e, unix.EBADF)
	case PerfEventOpen:
		_, _, e := unix.Syscall6(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, math.MaxUint32, 0) // there are no such flags
		return other(e, unix.EINVAL)
	case Ptrace:
		_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, 0, 0, 0, 0, 0) // there is no process 0
		return other(e, unix.ESRCH)
	case ProcessVMReadv:
		_, _, e := unix.Syscall6(unix.SYS_PROCESS_VM_READV, uintptr(os.Getpid()), 0, 0, 0, 0, 1) // there are no such flags
		return other(e, unix.EINVAL)
	case PIDFDGetfd:
		_, _, e := unix.Syscall(unix.SYS_PIDFD_GETFD, math.MaxUint32, 0, 0)
		return other(e, unix.EBADF)
	}
	return nil
}

// other returns e unless it is the error that the kernel itself answers with.
func other(e, own unix.Errno) error {
	if e == own || e == 0 {
		return nil
	}
	return e
}
