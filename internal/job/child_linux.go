package job

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// awaitChange waits until a child of this program has ended or was stopped. It consumes the wait status of a stop,
// and leaves that of an end. signal is the signal that has stopped the child. It is 0 if the child has ended: then
// status is its exit status as a shell reports it.
func awaitChange(pid int) (signal syscall.Signal, status int, err error) {
	for {
		info, err := waitID(pid, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT)
		if err != nil {
			return 0, 0, err
		}
		switch info.Code {
		case childExited:
			return 0, statusOf(info), nil
		case childKilled, childDumped:
			return 0, 128 + statusOf(info), nil
		}
		// The child may have been continued meanwhile, or have ended: then there is no wait status of a stop. A stop
		// of another kind is ignored: the command has asked to be traced by its parent (PTRACE_TRACEME), and stays
		// stopped, as under a shell.
		info, err = waitID(pid, unix.WSTOPPED|unix.WNOHANG)
		if err == nil && info.Code == childStopped {
			return syscall.Signal(statusOf(info)), 0, nil
		}
	}
}

// Values of si_code for changes of children.
const (
	childExited  = 1
	childKilled  = 2
	childDumped  = 3
	childStopped = 5
)

func waitID(pid int, flags int) (*unix.Siginfo, error) {
	for {
		info := new(unix.Siginfo)
		if err := unix.Waitid(unix.P_PID, pid, info, flags, nil); err != unix.EINTR {
			return info, err
		}
	}
}

// statusOf returns si_status, for which package unix has no field. It is behind si_pid and si_uid.
func statusOf(info *unix.Siginfo) int {
	const offset = 24
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), offset)))
}

// reap waits for a child that has ended.
func reap(pid int) { waitID(pid, unix.WEXITED|unix.WNOHANG) }
