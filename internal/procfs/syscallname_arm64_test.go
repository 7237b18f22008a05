package procfs

import "testing"

// TestSyscallName compares some names with the kernel's table of this machine.
func TestSyscallName(t *testing.T) {
	for nr, want := range map[int64]string{
		63: "read", 98: "futex", 22: "epoll_pwait", 244: "syscall_244", 260: "wait4", 293: "rseq", 294: "kexec_file_load", 435: "clone3",
		400: "syscall_400", -1: "syscall_-1", 1 << 40: "syscall_1099511627776",
	} {
		if got := SyscallName(nr); got != want {
			t.Errorf("SyscallName(%d) = %q, want %q", nr, got, want)
		}
	}
}
