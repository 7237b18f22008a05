package ptrace

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func cloneClose(fd uintptr) (pid uintptr)

// CloseApart closes fd in a process of its own, which shares our memory and descriptors, and
// returns when that has ended. A SIGKILL that ends this program does not interrupt it: the
// kernel does not take the trap of a uprobe out of the text for a thread that is being killed
// (register_for_each_vma in kernel/events/uprobes.c, by get_user_pages), and never does it
// again. The process has a session of its own, blocks all signals, and sends none when it
// ends; no wait for any child sees it.
//
// Blocks. It may be called on any goroutine. Where no process can be made the caller closes
// fd itself.
func CloseApart(fd int) error {
	pid := cloneMasked(uintptr(fd))
	if e := syscall.Errno(-pid); e < 4096 {
		return unix.Close(fd)
	}
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(int(pid), &ws, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil // another thread of ours waits for every process that there is: it has ended
		case ws.ExitStatus() != 0:
			return syscall.Errno(ws.ExitStatus())
		default:
			return nil
		}
	}
}

// cloneMasked is cloneClose with all signals blocked: a handler would need the stack.
//
//go:nosplit
//go:norace
//go:nocheckptr
func cloneMasked(fd uintptr) (pid uintptr) {
	const setMask = 2
	all, old := ^uint64(0), uint64(0)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	pid = cloneClose(fd)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&old)), 0, 8, 0, 0)
	return pid
}
