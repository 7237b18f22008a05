package control

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"ptools/internal/perfevent"
)

// eachTrap runs a test with int3s, and with uprobes wherever the kernel can probe.
func eachTrap(t *testing.T, f func(t *testing.T, trap Trap)) {
	t.Helper()
	for _, trap := range []Trap{TrapInt3, TrapAuto} {
		t.Run(trap.String(), func(t *testing.T) {
			if trap == TrapAuto {
				needUprobes(t)
			}
			f(t, trap)
		})
	}
}

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
