package ptrace

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func cloneCall(nr, a uintptr, b unsafe.Pointer, c uintptr, result *uintptr) (pid uintptr)

// CloseApart closes fd by CallApart.
func CloseApart(fd int) error {
	_, err := CallApart(unix.SYS_CLOSE, uintptr(fd), nil, 0)
	return err
}

// CallApart makes a system call in a process of its own, and returns when that process has ended. The process
// shares our memory and descriptors. A SIGKILL that ends this program does not interrupt the call. That matters
// for uprobes: on behalf of a thread that is being killed the kernel neither plants the trap of a uprobe nor takes
// it out of the text (register_for_each_vma in kernel/events/uprobes.c, by get_user_pages), and it does not try
// again. The process has a session of its own, blocks all signals, and sends none when it ends. A wait for any
// child does not return it.
//
// CallApart blocks. It may be called on any goroutine. Where no process can be made, the caller makes the call
// itself.
func CallApart(nr, a uintptr, b unsafe.Pointer, c uintptr) (uintptr, error) {
	result := new(uintptr)
	pid := cloneMasked(nr, a, b, c, result)
	if e := syscall.Errno(-pid); e < 4096 {
		r, _, e := unix.Syscall(nr, a, uintptr(b), c)
		if e != 0 {
			return 0, e
		}
		return r, nil
	}
	var err error = unix.EINTR
	for err == unix.EINTR { // ECHILD: another thread of ours, which waits for every process, has reaped it
		_, err = unix.Wait4(int(pid), nil, unix.WALL, nil)
	}
	if e := syscall.Errno(-*result); e < 4096 && e != 0 {
		return 0, e
	}
	return *result, nil
}

// cloneMasked is cloneCall with all signals blocked: a handler would need the stack.
//
//go:nosplit
//go:norace
//go:nocheckptr
func cloneMasked(nr, a uintptr, b unsafe.Pointer, c uintptr, result *uintptr) (pid uintptr) {
	const setMask = 2
	all, old := ^uint64(0), uint64(0)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	pid = cloneCall(nr, a, b, c, result)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&old)), 0, 8, 0, 0)
	return pid
}
