package procfs

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// StandsForClosed reports whether a standard descriptor of this process is what the Go runtime puts in the place of one that was
// closed: /dev/null, opened for reading and writing, and not shared with another standard descriptor. Some programs give one
// like it to those that they start without output.
func StandsForClosed(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != unix.Mkdev(1, 3) {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&(unix.O_ACCMODE|unix.O_APPEND) != unix.O_RDWR {
		return false
	}
	for other := range 3 {
		if other != fd && !otherDescription(fd, other) {
			return false
		}
	}
	return true
}

// otherDescription reports whether two descriptors of this process are of two openings, as far as kcmp(2) may be used.
func otherDescription(fd1, fd2 int) bool {
	const kcmpFile = 0
	pid := uintptr(syscall.Getpid())
	r, _, errno := unix.Syscall6(unix.SYS_KCMP, pid, pid, kcmpFile, uintptr(fd1), uintptr(fd2), 0)
	return errno == 0 && r != 0
}
