package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"ptools/internal/check"
	"ptools/internal/job"
	"ptools/internal/profile"
	"ptools/internal/source"
	"ptools/internal/usage"
	"ptools/pctl"
)

// Exit statuses.
const (
	exitFailure = 1
	exitUsage   = 2
	exitPipe    = 128 + int(syscall.SIGPIPE) // the reader of our output has closed it
)

// run runs the whole command and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parse(args)
	if err != nil || cfg.output == "" && cfg.http == "" {
		job.SayLost("psample", stdout, stderr)
	}
	if about, ok := errors.AsType[usage.Text](err); ok {
		_, err = io.WriteString(stdout, string(about))
		return report(stderr, err)
	}
	if asked, ok := errors.AsType[check.Request](err); ok {
		if err = asked.Write(ctx, stdout); err != nil {
			err = outputError(err)
		}
		return report(stderr, err)
	}
	if err == nil {
		err = cfg.checkOutput(stdout)
	}
	if err != nil {
		return report(stderr, err)
	}
	if cfg.from != "" {
		return report(stderr, cfg.render(stdout, stderr))
	}
	var status int
	s := &session{cfg: cfg, stdout: stdout, stderr: stderr}
	if s.written, err = cfg.written(); err != nil {
		return report(stderr, err)
	}
	job.FetchDebug(ctx, "psample", stderr, cfg.command, cfg.pids)
	err = s.run(ctx, &status)
	if err == nil && status == 0 {
		err = job.Incomplete()
	}
	if code := report(stderr, err); code != 0 {
		return code
	}
	return status
}

// checkOutput refuses to write compressed bytes to a terminal, and to files that cannot be
// made.
func (c *config) checkOutput(stdout io.Writer) error {
	if c.output != "" {
		return profile.CheckFile(c.output)
	}
	if c.format == profile.Pprof && job.IsTerminal(stdout) {
		return usage.Errorf("pprof output is not for a terminal: give -o FILE")
	}
	return nil
}

// statusError is an error with an exit status of its own.
type statusError struct {
	status int
	error
}

func (e statusError) Unwrap() error { return e.error }

// report prints an error in one line and returns its exit status.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	if message(err) == message(outputError(syscall.EPIPE)) {
		return exitPipe
	}
	fmt.Fprintf(stderr, "psample: %s\n", profile.Clean(message(err)))
	if _, ok := errors.AsType[usage.Error](err); ok {
		fmt.Fprintln(stderr, "try 'psample --help'")
		return exitUsage
	}
	if e, ok := errors.AsType[statusError](err); ok {
		return e.status
	}
	return exitFailure
}

// message returns the line for an error: the operation first, without the
// library's name. Several errors become one line.
func message(err error) string {
	if all, ok := err.(interface{ Unwrap() []error }); ok && strings.Contains(err.Error(), "\n") {
		var lines []string
		for _, e := range all.Unwrap() {
			lines = append(lines, message(e))
		}
		return strings.Join(lines, "; ")
	}
	if e, ok := errors.AsType[*pctl.Error](err); ok {
		return e.Subject() + ": " + e.Err.Error()
	}
	if e, ok := errors.AsType[*source.Error](err); ok {
		return fmt.Sprintf("sample %d: %v", e.PID, e.Err)
	}
	return err.Error()
}
