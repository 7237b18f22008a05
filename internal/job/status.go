package job

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/term"

	"ptools/pctl"
)

// LookPath is exec.LookPath, except that it also finds programs in the current directory if PATH has it.
// Its error is the cause alone.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		return path, nil
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	return path, err
}

// StartStatus returns the exit status that a shell reports for a command that could not be started: 127 if there is
// no such program, 126 if it cannot be executed, and the status of the signal if it was killed before its first
// instruction. Other errors, such as that it cannot be traced, are failures of this program: 1.
func StartStatus(err error) int {
	if _, ok := errors.AsType[*pctl.Refusal](err); ok || errors.Is(err, pctl.ErrNoUprobe) {
		return 1 // a permission that is missing here is not that to execute the command
	}
	if e, ok := errors.AsType[*pctl.EndError](err); ok {
		return EndStatus(e.End)
	}
	for _, x := range []struct {
		err    error
		status int
	}{
		{exec.ErrNotFound, 127}, {fs.ErrNotExist, 127},
		{fs.ErrPermission, 126}, {syscall.ENOEXEC, 126}, {syscall.EISDIR, 126}, {pctl.Err32Bit, 126},
	} {
		if errors.Is(err, x.err) {
			return x.status
		}
	}
	return 1
}

// EndStatus returns a command's exit status as a shell reports it. The event is its end.
func EndStatus(e pctl.Event) int {
	if e.Exited {
		return e.Code
	}
	return 128 + e.Signal
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
