package job

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/term"

	"ptools/pctl"
	"ptools/pctl/targets"
)

// LookPath is exec.LookPath, except that it also finds programs in the current directory if PATH has it.
// Its error is the cause alone, with what was meant if a word is no program: a process, or a text about the tool.
func LookPath(tool, name string) (string, error) {
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		return path, nil
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	if meant := meant(tool, name); errors.Is(err, exec.ErrNotFound) && meant != "" {
		err = fmt.Errorf("%w (%s)", err, meant)
	}
	return path, err
}

// meant returns what a word means that is no program; "" if that is not known.
func meant(tool, name string) string {
	switch n, err := strconv.Atoi(name); {
	case err == nil && n > 0:
		return "for process " + name + ": " + tool + " -p " + name
	case name == "help", name == "version":
		return "for that: " + tool + " --" + name
	case strings.Contains(name, "/"):
		return "" // a path of a program
	}
	if pids, _, err := targets.Select([]string{name}, ""); err == nil {
		if len(pids) == 1 {
			return fmt.Sprintf("for the process of that name, %d: %s -p %s", pids[0], tool, name)
		}
		return fmt.Sprintf("for the %d processes of that name: %s -p %s", len(pids), tool, name)
	}
	return ""
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
