package procfs

import (
	"bytes"
	"unsafe"

	"golang.org/x/sys/unix"
)

// eachFile calls f for each descriptor of a process, with the descriptor's name, until f returns false. The names are looked up from the open
// directory: a path through /proc for each takes three times as long.
func eachFile(pid int, f func(fd int, name []byte) bool) {
	p := processPath(pid, "fd")
	dir, errno := p.open(unix.O_RDONLY | unix.O_DIRECTORY)
	if errno != 0 {
		return // it has ended, or may not be read
	}
	defer unix.Close(dir)
	var names [8192]byte
	var link [len("socket:[]") + 20]byte // longer names are cut
	for {
		n, err := unix.Getdents(dir, names[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		denied := false // to one of them, and so to all (proc_fd_access_allowed in fs/proc/base.c), or f wants no more
		eachName(names[:n], func(name []byte, _ uint64) {
			fd, ok := digits(name)
			if !ok || denied {
				return
			}
			n, _, errno := unix.RawSyscall6(unix.SYS_READLINKAT, uintptr(dir), uintptr(unsafe.Pointer(&name[0])),
				uintptr(unsafe.Pointer(&link[0])), uintptr(len(link)), 0, 0)
			if denied = errno == unix.EACCES; errno == 0 {
				denied = !f(fd, link[:n])
			}
		})
		if denied {
			return
		}
	}
}

// digits reads a name that is a number and ends with a NUL.
func digits(name []byte) (number int, ok bool) {
	end := bytes.IndexByte(name, 0)
	for _, c := range name[:max(end, 0)] {
		if c < '0' || c > '9' {
			return 0, false
		}
		number = number*10 + int(c-'0')
	}
	return number, end > 0
}
