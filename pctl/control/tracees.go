package control

import (
	"io"

	"ptools/internal/tracee"
)

// Mode says what becomes of the target when it is released.
type Mode = tracee.Mode

const (
	// ModeRun resumes it, or leaves it stopped if it was stopped from outside.
	ModeRun = tracee.ModeRun
	// ModeKill ends it with SIGKILL, also when the program that controls it dies
	// (PTRACE_O_EXITKILL). A target that is stopped from outside is left stopped instead.
	ModeKill = tracee.ModeKill
	// ModeStop leaves it stopped as by SIGSTOP, without another instruction executed.
	ModeStop = tracee.ModeStop
)

// Trace records what the kernel reports of the threads of one controlled process, and what was
// done to them.
type Trace = tracee.Trace

// NewTrace returns a Trace that keeps n entries; zero: some ten thousand. Unless out is nil,
// the text is written to it by one Write when control of the process ends.
func NewTrace(n int, out io.Writer) *Trace { return tracee.NewTrace(n, out) }

// Errors of what tracees do.
var (
	// ErrOnControl is the error of a request that a handler or a Pause function makes, and that
	// only another goroutine may make: the control goroutine would wait for itself.
	ErrOnControl = tracee.ErrOnControl
	// ErrReleased: the target has been released.
	ErrReleased = tracee.ErrReleased
	// ErrEnded: the target is no more.
	ErrEnded = tracee.ErrEnded
	// ErrShared is the error of an int3 where another process uses the same memory and cannot
	// be traced.
	ErrShared = tracee.ErrShared
)

// FilterError is the error of a ptrace(2) that a seccomp filter refuses.
type FilterError = tracee.FilterError
