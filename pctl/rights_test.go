package pctl

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"ptools/internal/perfevent"
)

// needUprobes skips a test where the kernel refuses them.
func needUprobes(t testing.TB) {
	t.Helper()
	s, err := perfevent.NewSignals(os.Getpid(), syscall.SIGWINCH)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}
