package mem

import (
	"bytes"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Forces reports whether /proc/PID/mem reads and writes pages against their protection for a program that is not the
// tracer of the process. With the parameter proc_mem.force_override=ptrace, the default of some distributions, a kernel
// does so for the tracer thread only (proc_mem_foll_force in fs/proc/base.c, Linux 6.12). It is found out by a write to
// a read-only page of our own. It is true where that cannot be tried.
var Forces = sync.OnceValue(func() bool {
	page, err := unix.Mmap(-1, 0, 1, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return true
	}
	defer unix.Munmap(page)
	fd, err := openFile("/proc/self/mem", unix.O_RDWR)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	_, err = unix.Pwrite(fd, []byte{1}, int64(uintptr(unsafe.Pointer(&page[0]))))
	return err == nil
})

// Replace writes to the memory that a thread has now, if that has the bytes old there. The caller traces the thread, where [Forces]
// is false. The error is EFAULT if the memory has other bytes or cannot be written.
func Replace(tid int, old, now []byte, addr int64) error {
	fd, err := openFile("/proc/"+strconv.Itoa(tid)+"/mem", unix.O_RDWR)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	found := make([]byte, len(old))
	if n, err := unix.Pread(fd, found, addr); err != nil || n != len(old) || !bytes.Equal(found, old) {
		return unix.EFAULT
	}
	if n, err := unix.Pwrite(fd, now, addr); err != nil || n != len(now) {
		return unix.EFAULT
	}
	return nil
}
