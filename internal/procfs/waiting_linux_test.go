package procfs

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOpenSocket: only sockets are duplicated.
func TestOpenSocket(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	s, err := OpenSocket(os.Getpid(), fds[0])
	if errors.Is(err, fs.ErrPermission) {
		t.Skip(err) // a seccomp filter's
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if d, err := s.Timeout(ReceiveTimeout); d != 0 || err != nil {
		t.Errorf("timeout %v, %v", d, err)
	}
	if err := unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Timeout(ReceiveTimeout); d != 2*time.Second || err != nil {
		t.Errorf("timeout %v, %v", d, err)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := OpenSocket(os.Getpid(), int(f.Fd())); !errors.Is(err, unix.ENOTSOCK) {
		t.Errorf("a file: %v", err)
	}
}
