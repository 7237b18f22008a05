package procfs

import (
	"sync"

	"golang.org/x/sys/unix"
)

// An Image stands for one program image of a process, from one exec to the
// next. It holds /proc/PID/maps open: the kernel binds that descriptor to the
// address space at open (fs/proc/task_mmu.c, proc_maps_open) and has nothing
// to read there once the last user of the address space has left it. Safe for
// concurrent use.
type Image struct {
	mu sync.RWMutex
	fd int // -1 when closed
}

// OpenImage binds to the present image of a process. It needs the permission
// PTRACE_MODE_READ. A process without memory (a zombie, a kernel thread) has
// none: ESRCH.
func OpenImage(pid int) (*Image, error) {
	p := processPath(pid, "maps")
	i, err := openImage(&p)
	if i != nil || err != nil {
		return i, err
	}
	viaThread(pid, func(tid int) bool {
		t := taskPath(pid, tid, "maps")
		i, _ = openImage(&t)
		return i != nil
	})
	if i == nil {
		return nil, p.gone()
	}
	return i, nil
}

// openImage returns nil without an error if the task has no memory.
func openImage(p *path) (*Image, error) {
	fd, errno := p.open(unix.O_RDONLY)
	if errno == unix.ESRCH {
		return nil, nil
	}
	if errno != 0 {
		return nil, p.fail("open", errno)
	}
	i := &Image{fd: fd}
	if !i.Current() {
		i.Close()
		return nil, nil
	}
	return i, nil
}

// Current reports whether the process still runs this image: it has neither
// exec'd nor ended. The test is one read of one byte, and exact but for an
// address space shared with another process (vfork, or clone with CLONE_VM
// alone): that one lives on with the other process.
func (i *Image) Current() bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.fd < 0 {
		return false
	}
	var b [1]byte
	for {
		n, err := unix.Pread(i.fd, b[:], 0)
		if err != unix.EINTR {
			return n == 1
		}
	}
}

// Close is idempotent.
func (i *Image) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fd >= 0 {
		unix.Close(i.fd)
		i.fd = -1
	}
	return nil
}
