package procfs

import (
	"io/fs"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// open opens the file for reading and returns its descriptor. A lack of descriptors counts (Lacks).
func (p *path) open(flags int) (int, syscall.Errno) {
	fd, errno := p.tryOpen(flags)
	NoteLack(errno)
	return fd, errno
}

// tryOpen is open where the caller can do with less descriptors.
func (p *path) tryOpen(flags int) (int, syscall.Errno) {
	for {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(unix.AT_FDCWD&(1<<64-1)),
			uintptr(unsafe.Pointer(&p.buf[0])), uintptr(flags|unix.O_CLOEXEC), 0, 0, 0)
		if errno != unix.EINTR {
			return int(fd), vanished(errno)
		}
	}
}

// read returns the whole file in buf[:0], grown as needed: a file of /proc
// has no size and ends where read returns 0.
func (p *path) read(buf []byte) ([]byte, error) {
	fd, errno := p.open(unix.O_RDONLY)
	if errno != 0 {
		return nil, p.fail("open", errno)
	}
	defer unix.Close(fd)
	if cap(buf) == 0 {
		buf = make([]byte, 0, 4096)
	}
	buf = buf[:0]
	for ours := []byte(nil); ; { // not the caller's, which may be on its stack
		if len(buf) == cap(buf) {
			larger := append(texts.get(2*cap(buf)), buf...)
			texts.put(ours)
			buf, ours = larger, larger
		}
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, p.fail("read", vanished(err.(syscall.Errno)))
		case n == 0:
			return buf, nil
		default:
			buf = buf[:len(buf)+n]
		}
	}
}

// readlink returns the target of the link.
func (p *path) readlink() (string, error) {
	buf := make([]byte, 4096) // PATH_MAX; longer names are ENAMETOOLONG
	n, err := unix.Readlink(p.String(), buf)
	if err != nil {
		return "", p.fail("readlink", vanished(err.(syscall.Errno)))
	}
	return string(buf[:n]), nil
}

func (p *path) fail(op string, errno syscall.Errno) error {
	return &fs.PathError{Op: op, Path: p.String(), Err: errno}
}

// gone returns the error for a process that has no memory any more.
func (p *path) gone() error { return p.fail("read", unix.ESRCH) }

// vanished maps the ways the kernel reports a task that does not exist any
// more to ESRCH: open finds no directory (ENOENT), read finds no task.
func vanished(errno syscall.Errno) syscall.Errno {
	if errno == unix.ENOENT {
		return unix.ESRCH
	}
	return errno
}

// readMemory reads a process's memory from addr on, as far as it may be read, and returns how
// many bytes it has read. It needs the permission PTRACE_MODE_ATTACH.
func readMemory(pid int, b []byte, addr uint64) int {
	local := [1]unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	remote := [1]unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}
	n, err := unix.ProcessVMReadv(pid, local[:], remote[:], 0)
	if err != nil {
		return 0
	}
	return n
}
