package ptrace

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An apartCall is a system call that another process makes. The assembler code knows its layout.
type apartCall struct {
	nr     uintptr
	args   [5]uintptr
	result uintptr
	memory unsafe.Pointer
}

func cloneCall(call *apartCall) (pid uintptr)

// CloseApart closes fd by CallApart.
func CloseApart(fd int) error {
	_, err := CallApart(unix.SYS_CLOSE, [5]uintptr{uintptr(fd)}, nil)
	return err
}

// CallApart makes a system call in a process of its own, and returns when that process has ended. The process
// shares our memory and descriptors. A SIGKILL that ends this program does not interrupt the call. That matters
// for uprobes: on behalf of a thread that is being killed the kernel neither plants the trap of a uprobe nor takes
// it out of the text (register_for_each_vma in kernel/events/uprobes.c, by get_user_pages), and it does not try
// again. The process has a session of its own, blocks all signals, and sends none when it ends. A wait for any
// child does not return it.
//
// An argument may be the address of memory, which is on the heap and kept for the call.
//
// CallApart blocks. It may be called on any goroutine. Where no process can be made, the caller makes the call
// itself.
func CallApart(nr uintptr, args [5]uintptr, memory unsafe.Pointer) (uintptr, error) {
	call := &apartCall{nr: nr, args: args, memory: memory}
	pid := cloneMasked(call)
	if e := syscall.Errno(-pid); e < 4096 {
		r, _, e := unix.Syscall6(nr, args[0], args[1], args[2], args[3], args[4], 0)
		runtime.KeepAlive(call)
		if e != 0 {
			return 0, e
		}
		return r, nil
	}
	var err error = unix.EINTR
	for err == unix.EINTR { // ECHILD: another thread of ours, which waits for every process, has reaped it
		_, err = unix.Wait4(int(pid), nil, unix.WALL, nil)
	}
	result := call.result
	runtime.KeepAlive(call)
	if e := syscall.Errno(-result); e < 4096 && e != 0 {
		return 0, e
	}
	return result, nil
}

// cloneMasked is cloneCall with all signals blocked: a handler would need the stack.
//
//go:nosplit
//go:norace
//go:nocheckptr
func cloneMasked(call *apartCall) (pid uintptr) {
	const setMask = 2
	all, old := ^uint64(0), uint64(0)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	pid = cloneCall(call)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&old)), 0, 8, 0, 0)
	return pid
}
