package procfs

import (
	"context"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A PIDFD refers to one process (pidfd_open(2)). The number of the process may
// be used again; the descriptor still refers to the process that had it when
// the descriptor was opened. Safe for concurrent use.
type PIDFD struct{ descriptor }

// descriptor is a file that may be closed while others use it.
type descriptor struct {
	mu sync.RWMutex
	fd int // -1 when closed
}

// OpenPIDFD opens the process. For the number of a thread that is no leader the
// kernel says EINVAL, or ENOENT since Linux 6.15. OpenPIDFD returns ESRCH then:
// there is no such process.
func OpenPIDFD(pid int) (*PIDFD, error) {
	fd, err := openNonblocking(pid)
	NoteLack(err)
	switch err {
	case nil:
		return &PIDFD{descriptor{fd: fd}}, nil
	case unix.ENOENT:
		return nil, unix.ESRCH
	case unix.EINVAL:
		if pid > 0 {
			return nil, unix.ESRCH
		}
	}
	return nil, err
}

// openNonblocking opens a descriptor that does not block. Before Linux 5.10 pidfd_open knows no flag for that, and says
// EINVAL (internal/check: TestOldKernels).
func openNonblocking(pid int) (int, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != unix.EINVAL {
		return fd, err
	}
	if fd, err = unix.PidfdOpen(pid, 0); err != nil {
		return -1, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Alive reports whether any thread of the process is still there. A zombie
// leader with living threads is alive; a process that is dead but not yet
// reaped is not. A closed PIDFD is not alive.
func (p *PIDFD) Alive() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.fd >= 0 && !ended(p.fd)
}

// ended polls: a pidfd is readable once the thread group has died. The call does
// not sleep, so the Go scheduler need not know of it.
func ended(fd int) bool {
	for {
		p := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
		var now unix.Timespec
		n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		if errno != unix.EINTR {
			return errno != 0 || n > 0
		}
	}
}

// Wait blocks until the process has died and returns nil, or until ctx is
// done and returns its error. It occupies no OS thread, and does not reap.
// Close does not wake it.
func (p *PIDFD) Wait(ctx context.Context) error {
	f, err := p.dup()
	if err != nil {
		return err
	}
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err = conn.Read(func(fd uintptr) bool { return ended(int(fd)) })
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// dup makes a separate file for one waiter: the runtime's poller lets one
// goroutine at a time wait for a file, with one deadline.
func (p *PIDFD) dup() (*os.File, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.fd < 0 {
		return nil, os.ErrClosed
	}
	fd, err := unix.FcntlInt(uintptr(p.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		NoteLack(err)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// Close is idempotent.
func (d *descriptor) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fd >= 0 {
		unix.Close(d.fd)
		d.fd = -1
	}
	return nil
}
