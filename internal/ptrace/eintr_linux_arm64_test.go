package ptrace

import "golang.org/x/sys/unix"

// The system calls that the C library makes for epoll_wait and poll.
const (
	sysEpollWait = unix.SYS_EPOLL_PWAIT
	sysPoll      = unix.SYS_PPOLL
)

// restartedAt is how far in front of its return address a thread is whose system call a stop has interrupted and will restart.
const restartedAt = 4

// trapCode is the si_code of a trap's SIGTRAP.
const trapCode = TrapBrkpt
