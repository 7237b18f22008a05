package procfs

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An Image stands for one program image of a process, from one exec to the
// next. It keeps a file open. The kernel binds that file to the address space
// at open (fs/proc/task_mmu.c, proc_mem_open), and it has no contents once the
// last user of the address space has left it. Safe for concurrent use.
type Image struct {
	descriptor
	maps bool // it is maps, not pagemap
}

// OpenImage binds to the present image of a process. It needs the permission
// PTRACE_MODE_READ. A process without memory (a zombie, a kernel thread) has
// none: ESRCH.
func OpenImage(pid int) (*Image, error) {
	i, err := openImage(processPath(pid, "pagemap"), processPath(pid, "maps"))
	if i != nil || err != nil {
		return i, err
	}
	viaThread(pid, func(tid int) bool {
		i, err = openImage(taskPath(pid, tid, "pagemap"), taskPath(pid, tid, "maps"))
		return i != nil || err != nil
	})
	if i == nil && err == nil {
		p := processPath(pid, "maps")
		err = p.gone()
	}
	return i, err
}

// openImage opens pagemap, or maps where the kernel has no pagemap. With pagemap
// the test of Current costs a quarter. openImage returns nil without an error if
// the task has no memory.
func openImage(pagemap, maps path) (*Image, error) {
	i := new(Image)
	var errno syscall.Errno
	if i.fd, errno = pagemap.open(unix.O_RDONLY); errno != 0 {
		i.maps = true
		i.fd, errno = maps.open(unix.O_RDONLY)
	}
	switch {
	case errno == unix.ESRCH:
		return nil, nil
	case errno != 0:
		return nil, maps.fail("open", errno)
	case !i.Current():
		i.Close()
		return nil, nil
	}
	return i, nil
}

// Current reports whether the process still runs this image: it has neither
// exec'd nor ended. The test is one system call. It is exact with one exception:
// an address space that is shared with another process (vfork, or clone with
// CLONE_VM alone) lives as long as the other process.
//
// A byte of maps can be read as long as there is a mapping. A single byte of
// pagemap can never be read: pagemap_read looks for the address space first, and
// returns EINVAL as long as there is one, and 0 bytes after that.
func (i *Image) Current() bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.fd < 0 {
		return false
	}
	var b [1]byte
	for {
		if !i.maps { // hardly ever sleeps: the Go scheduler need not know
			_, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(i.fd), uintptr(unsafe.Pointer(&b)), 1, 0, 0, 0)
			return errno == unix.EINVAL
		}
		n, err := unix.Pread(i.fd, b[:], 0)
		if err != unix.EINTR {
			return n == 1
		}
	}
}
