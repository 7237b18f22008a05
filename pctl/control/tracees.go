package control

import (
	"io"

	"ptools/internal/tracee"
)

// Mode is what becomes of the target when it is let go.
type Mode = tracee.Mode

const (
	// ModeRun lets it run on, or leaves it stopped if it was stopped from outside.
	ModeRun = tracee.ModeRun
	// ModeKill ends it with SIGKILL, also when the program that controls it dies
	// (PTRACE_O_EXITKILL). While it is stopped from outside it is left stopped instead.
	ModeKill = tracee.ModeKill
	// ModeStop leaves it stopped as by SIGSTOP, without another instruction executed.
	ModeStop = tracee.ModeStop
)

// Trace records what the kernel said about the threads of one controlled process and what was done to them.
type Trace = tracee.Trace

// NewTrace returns a Trace that keeps n entries; zero: some ten thousand. Where out is not nil
// the text is written to it when control of the process ends, by one Write.
func NewTrace(n int, out io.Writer) *Trace { return tracee.NewTrace(n, out) }

// Errors of what tracees do.
var (
	// ErrOnControl is returned to a handler or a Pause function that makes a request
	// which only another goroutine may make: it would wait for itself.
	ErrOnControl = tracee.ErrOnControl
	// ErrReleased: the target has been let go.
	ErrReleased = tracee.ErrReleased
	// ErrEnded: the target is no more.
	ErrEnded = tracee.ErrEnded
	// ErrShared is the error of an int3 in memory that is another process's too, which cannot be traced.
	ErrShared = tracee.ErrShared
)

// FilterError is the error of a ptrace(2) that a seccomp filter answers.
type FilterError = tracee.FilterError
