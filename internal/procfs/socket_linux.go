package procfs

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// SocketTimeout returns the receive or send timeout of the socket that a
// process has as descriptor fd, 0 if it has none (socket(7), SO_RCVTIMEO). The
// descriptor is duplicated for the question by pidfd_getfd(2), which needs the
// permission PTRACE_MODE_ATTACH. ENOTSOCK: it is no socket.
func SocketTimeout(pid, fd int, send bool) (time.Duration, error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(pidfd)
	dup, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return 0, os.NewSyscallError("pidfd_getfd", err)
	}
	defer unix.Close(dup)
	opt := unix.SO_RCVTIMEO
	if send {
		opt = unix.SO_SNDTIMEO
	}
	tv, err := unix.GetsockoptTimeval(dup, unix.SOL_SOCKET, opt)
	if err != nil {
		return 0, os.NewSyscallError("getsockopt", err)
	}
	return time.Duration(tv.Nano()), nil
}
