package job

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// awaitChange waits until a child of this program has ended, which stays to be waited for, or was stopped, which it takes note
// of. signal is the one that has stopped it, 0 if it has ended: then status is what a shell would say.
func awaitChange(pid int) (signal syscall.Signal, status int, err error) {
	for {
		info, err := waitID(pid, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT)
		if err != nil {
			return 0, 0, err
		}
		if info.Code != childStopped {
			status = statusOf(info)
			if info.Code != childExited {
				status += 128
			}
			return 0, status, nil
		}
		// It may have been continued meanwhile, or have ended: then there is no stop to take note of, or no child that could have one.
		info, err = waitID(pid, unix.WSTOPPED|unix.WNOHANG)
		if err == nil && info.Code == childStopped {
			return syscall.Signal(statusOf(info)), 0, nil
		}
	}
}

// Values of si_code that tell of children.
const (
	childExited  = 1
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

// statusOf reads si_status, of which package unix knows that it is there: it follows the number and the user of the child.
func statusOf(info *unix.Siginfo) int {
	const offset = 24
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), offset)))
}

// reap takes note of a child that has ended.
func reap(pid int) { waitID(pid, unix.WEXITED|unix.WNOHANG) }
