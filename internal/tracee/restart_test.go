package tracee

import (
	"syscall"
	"testing"

	"ptools/internal/procfs"
)

// TestAgain: every call that returns EINTR is made again, except close(2). Whatever close returns,
// the descriptor is closed.
func TestAgain(t *testing.T) {
	// Every machine has these calls.
	waits, read, closing := procfs.SyscallNumber("epoll_pwait"), procfs.SyscallNumber("read"), procfs.SyscallNumber("close")
	for _, c := range []struct {
		nr     int64
		result int64
		want   bool
	}{
		{waits, -int64(syscall.EINTR), true},
		{waits, eagain, false},
		{read, -int64(syscall.EINTR), true},
		{read, 4, false},
		{closing, -int64(syscall.EINTR), false},
	} {
		if got := again(c.nr, c.result); got != c.want {
			t.Errorf("call %d with %d: %v, want %v", c.nr, c.result, got, c.want)
		}
	}
}
