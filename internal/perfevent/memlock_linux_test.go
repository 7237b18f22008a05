package perfevent

import (
	"errors"
	"io/fs"
	"testing"

	"golang.org/x/sys/unix"

	"ptools/internal/need"
)

// TestUnlocked: a call that RLIMIT_MEMLOCK keeps from being made is made within a raised limit, and no other call is
// made twice. The limit is as before afterwards.
func TestUnlocked(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &old); err != nil {
		t.Fatal(err)
	}
	if old.Max <= 64<<10 {
		t.Skip("the hard limit is not above 64 KiB")
	}
	small := unix.Rlimit{Cur: 64 << 10, Max: old.Max}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &small); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_MEMLOCK, &old)
	charged := func() (int, error) { // as a kernel does that charges maps
		var now unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &now); now.Cur <= 64<<10 {
			return -1, unix.EPERM
		}
		return 7, nil
	}
	fd, err := unlocked(charged)
	if fd != 7 || err != nil {
		t.Errorf("%d, %v", fd, err)
	}
	calls := 0
	if _, err := unlocked(func() (int, error) { calls++; return -1, unix.EINVAL }); err != unix.EINVAL || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	if _, err := unlocked(func() (int, error) { return -1, unix.EPERM }); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a call that is never permitted: %v", err)
	}
	var now unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &now); now != small {
		t.Errorf("the limit is %+v afterwards", now)
	}
	if err := error(&need.MemlockError{Limit: 64 << 10}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v is not fs.ErrPermission", err)
	}
}
