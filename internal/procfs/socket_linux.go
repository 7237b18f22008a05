package procfs

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Socket is a duplicate of a socket of another process.
type Socket struct{ fd int }

// OpenSocket duplicates the socket that a process has as descriptor fd. It uses pidfd_getfd(2),
// which needs the permission PTRACE_MODE_ATTACH. ENOTSOCK: the descriptor is no socket. Other
// files are not duplicated, because closing them may take long.
func OpenSocket(pid, fd int) (*Socket, error) {
	p := processPath(pid, "fd/"+strconv.Itoa(fd))
	name, err := p.readlink()
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(name, "socket:") {
		return nil, unix.ENOTSOCK
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(pidfd)
	dup, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_getfd", err)
	}
	return &Socket{dup}, nil
}

// Close closes the duplicate.
func (s *Socket) Close() error { return unix.Close(s.fd) }

// The timeouts of a socket (socket(7)).
const (
	ReceiveTimeout = unix.SO_RCVTIMEO
	SendTimeout    = unix.SO_SNDTIMEO
)

// Timeout returns the receive or send timeout, 0 if there is none.
func (s *Socket) Timeout(which int) (time.Duration, error) {
	tv, err := unix.GetsockoptTimeval(s.fd, unix.SOL_SOCKET, which)
	if err != nil {
		return 0, os.NewSyscallError("getsockopt", err)
	}
	return time.Duration(tv.Nano()), nil
}

// TakeError returns and clears the error that the next call on the socket would return, 0 if
// there is none.
func (s *Socket) TakeError() (int, error) {
	return unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
}
