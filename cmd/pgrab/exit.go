package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"ptools/internal/clean"
	"ptools/internal/job"
	"ptools/internal/usage"
	"ptools/pctl"
)

// status is an exit status without a message: the message has been printed,
// or the status is the command's own.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// startError is a command that could not be started.
type startError struct{ error }

func (e startError) Unwrap() error { return e.error }

// report prints a line for an error, if it needs one, and returns the exit
// status.
func report(stderr io.Writer, err error) int {
	var s status
	var wrong usage.Error
	var start startError
	var write outputError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &s):
		return int(s)
	case errors.As(err, &write) && errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE) // the reader of the output has closed it
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "pgrab: %s\ntry 'pgrab --help'\n", clean.Text(err.Error()))
		return 2
	case errors.As(err, &start):
		fmt.Fprintln(stderr, complaint(err))
		return job.StartStatus(err)
	}
	fmt.Fprintln(stderr, complaint(err))
	return 1
}

// complaint returns the one line that the command prints for an error:
// "pgrab: operation PID: reason (what can be done)".
func complaint(err error) string {
	var e *pctl.Error
	if errors.As(err, &e) {
		return "pgrab: " + clean.Text(e.Subject()) + ": " + reason(e.Err)
	}
	return "pgrab: " + clean.Text(strings.TrimPrefix(err.Error(), "pctl: "))
}
