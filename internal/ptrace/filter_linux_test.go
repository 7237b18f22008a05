package ptrace

import (
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestFiltered: PTRACE_SEIZE of process 0 distinguishes a seccomp filter's errno from the kernel's own, which is
// ESRCH.
func TestFiltered(t *testing.T) {
	if err := Filtered(); err != nil {
		t.Fatalf("without a filter: %v", err)
	}
	for _, errno := range []syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS} {
		got := make(chan error)
		go func() {
			runtime.LockOSThread() // for good: the filter ends with the thread
			if err := filterPtrace(errno); err != nil {
				got <- err
				return
			}
			got <- Filtered()
		}()
		if err := <-got; err != errno {
			t.Errorf("under a filter that says %v: %v", errno, err)
		}
	}
	if err := Filtered(); err != nil {
		t.Errorf("another thread's filter: %v", err)
	}
}

// filterPtrace makes every ptrace(2) of the calling thread fail with errno.
func filterPtrace(errno syscall.Errno) error {
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_PTRACE},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
}
