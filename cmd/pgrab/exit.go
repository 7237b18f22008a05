package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"

	"ptools/internal/clean"
	"ptools/pctl"
)

// status is an exit status that needs no words: they have been said, or it is
// the command's own.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// startError is a command that could not be started.
type startError struct{ error }

func (e startError) Unwrap() error { return e.error }

// status is what a shell would say: 127 if there is no such program, 126 if
// there is but it cannot be executed. That it cannot be traced is a failure of ours.
func (e startError) status() int {
	var r *pctl.Refusal
	switch {
	case errors.As(e.error, &r):
		return 1
	case errors.Is(e.error, exec.ErrNotFound), errors.Is(e.error, fs.ErrNotExist):
		return 127
	case errors.Is(e.error, fs.ErrPermission), errors.Is(e.error, syscall.ENOEXEC),
		errors.Is(e.error, syscall.EISDIR), errors.Is(e.error, pctl.Err32Bit):
		return 126
	}
	return 1
}

// report prints the line that an error deserves and returns the exit status.
func report(stderr io.Writer, err error) int {
	var s status
	var usage usageError
	var start startError
	var write outputError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &s):
		return int(s)
	case errors.As(err, &write) && errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE) // the reader has seen enough
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "pgrab: %s\ntry 'pgrab --help'\n", clean.Text(err.Error()))
		return 2
	case errors.As(err, &start):
		fmt.Fprintln(stderr, complaint(err))
		return start.status()
	}
	fmt.Fprintln(stderr, complaint(err))
	return 1
}

// complaint is an error as the one line that the command prints for it:
// "pgrab: operation PID: reason (what can be done)".
func complaint(err error) string {
	var e *pctl.Error
	if errors.As(err, &e) {
		return "pgrab: " + e.Subject() + ": " + reason(e.Err)
	}
	return "pgrab: " + clean.Text(strings.TrimPrefix(err.Error(), "pctl: "))
}

// exitStatus is a command's exit status as a shell reports it.
func exitStatus(e pctl.Event) error {
	switch {
	case e.Exited && e.Code == 0:
		return nil
	case e.Exited:
		return status(e.Code)
	}
	return status(128 + e.Signal)
}
