package job

import (
	"fmt"
	"io/fs"
	"os/exec"
	"syscall"
	"testing"

	"ptools/pctl"
)

// TestStartStatus: only what is wrong with the command itself has a shell's status.
func TestStartStatus(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{exec.ErrNotFound, 127},
		{&fs.PathError{Op: "stat", Path: "./absent", Err: syscall.ENOENT}, 127},
		{syscall.EACCES, 126},
		{syscall.ENOEXEC, 126},
		{pctl.Err32Bit, 126},
		{fmt.Errorf("%w: %w: needs CAP_BPF", pctl.ErrNoUprobe, syscall.EPERM), 1},
		{syscall.EIO, 1},
	} {
		if got := StartStatus(&pctl.Error{Op: "create x", Err: tt.err}); got != tt.want {
			t.Errorf("%v: status %d, want %d", tt.err, got, tt.want)
		}
	}
}
