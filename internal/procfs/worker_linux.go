package procfs

import (
	"syscall"
	"unsafe"
)

// A process may have threads that never run code of its own: the kernel has made them, to work for the process there. Those of
// io_uring make its requests. A stop of such a thread ends what it waits for with an error, and nothing makes the call again.

// flagsWorker mark such a thread: PF_IO_WORKER (Linux 5.12), PF_USER_WORKER (6.4). They have had other meanings before.
const flagsWorker = 0x10 | 0x4000

// workerBlocks is what signals such a thread blocks: all but SIGKILL and SIGSTOP.
const workerBlocks = ^uint64(1<<8 | 1<<18)

// IsWorker reports whether a thread is one of those that the kernel has made to work for the process.
func IsWorker(pid, tid int) bool {
	if isRobust(tid) {
		return false
	}
	stat, err := ReadTaskStat(pid, tid)
	if err != nil || stat.Flags&flagsWorker == 0 {
		return false
	}
	status, err := ReadTaskStatus(pid, tid)
	return err == nil && status.SigBlk == workerBlocks
}

// isRobust reports whether a thread has told the kernel of its list of robust futexes. Only the thread itself can, so it has run code of the
// process. All threads of glibc do, right after they have begun; asking costs a fiftieth of reading a file of /proc.
func isRobust(tid int) bool {
	var head, size uintptr
	_, _, errno := syscall.RawSyscall(syscall.SYS_GET_ROBUST_LIST, uintptr(tid), uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&size)))
	return errno == 0 && head != 0
}
