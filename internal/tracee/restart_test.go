package tracee

import (
	"syscall"
	"testing"
)

// TestAgain: every call that returns EINTR is made again, except close(2). Whatever close returns,
// the descriptor is closed.
func TestAgain(t *testing.T) {
	const epollWait, read = 232, 0
	for _, c := range []struct {
		nr     int64
		result int64
		want   bool
	}{
		{epollWait, -int64(syscall.EINTR), true},
		{epollWait, eagain, false},
		{read, -int64(syscall.EINTR), true},
		{read, 4, false},
		{closing, -int64(syscall.EINTR), false},
	} {
		if got := again(c.nr, c.result); got != c.want {
			t.Errorf("call %d with %d: %v, want %v", c.nr, c.result, got, c.want)
		}
	}
}
