package procfs

import "testing"

// TestSyscallName32 compares some names with the kernel's table for 32-bit code.
func TestSyscallName32(t *testing.T) {
	for nr, want := range map[int64]string{
		0: "restart_syscall", 3: "read", 6: "close", 162: "nanosleep", 223: "syscall_223", 240: "futex", 256: "epoll_wait",
		407: "clock_nanosleep_time64", 435: "clone3", -1: "syscall_-1", 1 << 40: "syscall_1099511627776",
	} {
		if got := SyscallName32(nr); got != want {
			t.Errorf("%d: %s, want %s", nr, got, want)
		}
	}
}

// TestSyscallNumber is the inverse, where there is one.
func TestSyscallNumber(t *testing.T) {
	for _, name := range []string{"read", "futex", "epoll_pwait", "io_uring_enter", "rseq"} {
		if nr := SyscallNumber(name); nr < 0 || SyscallName(nr) != name {
			t.Errorf("%s has the number %d, which is %s", name, nr, SyscallName(nr))
		}
	}
	if nr := SyscallNumber("no_such_call"); nr != -1 {
		t.Errorf("a call that does not exist has the number %d", nr)
	}
}
