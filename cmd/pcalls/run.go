package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"ptools/internal/calls"
	"ptools/internal/clean"
	"ptools/internal/job"
	"ptools/internal/profile"
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
	if about, ok := errors.AsType[usage.Text](err); ok {
		_, err = io.WriteString(stdout, string(about))
		return report(stderr, err)
	}
	if err != nil {
		return report(stderr, err)
	}
	if cfg.save.output != "" {
		if err := profile.CheckFile(cfg.save.output); err != nil {
			return report(stderr, err)
		}
	}
	s := &session{config: cfg, stdout: stdout, stderr: stderr}
	status := 0
	if cfg.pid != 0 {
		err = s.running(ctx)
	} else {
		status, err = s.created(ctx)
	}
	if err == nil && status == 0 {
		err = job.Incomplete()
	}
	if code := report(stderr, err); code != 0 {
		return code
	}
	return status
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
	if errors.Is(err, syscall.EPIPE) {
		return exitPipe
	}
	fmt.Fprintf(stderr, "pcalls: %s\n", clean.Text(message(err)))
	if _, ok := errors.AsType[usage.Error](err); ok {
		fmt.Fprintln(stderr, "try 'pcalls --help'")
		return exitUsage
	}
	if e, ok := errors.AsType[statusError](err); ok {
		return e.status
	}
	return exitFailure
}

// message returns the line for an error, without the library's name.
func message(err error) string {
	if e, ok := errors.AsType[*pctl.Error](err); ok {
		return e.Subject() + ": " + e.Err.Error()
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// A session is one run.
type session struct {
	*config
	stdout, stderr io.Writer
	process        *calls.Process
	watch          *calls.Watch
}

// say prints a line about the run on standard error.
func (s *session) say(format string, args ...any) {
	if !s.quiet {
		fmt.Fprintf(s.stderr, "pcalls: %s\n", clean.Text(fmt.Sprintf(format, args...)))
	}
}

// find looks for the functions in a process, and prints them with --list. Otherwise it makes the probes.
func (s *session) find(pid int) error {
	var err error
	if s.process, err = calls.OpenProcess(pid); err != nil {
		if errors.Is(err, syscall.ESRCH) {
			err = pctl.ErrNoProcess
		}
		return fmt.Errorf("process %d: %w", pid, err)
	}
	spec := s.spec()
	cost := s.measure(&spec)
	defer cost()
	found, err := s.process.Select(s.patterns, spec.Arguments())
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	if missed := found.Missed(); len(missed) > 0 {
		return s.missed(found, missed[0])
	}
	unmeasured := cost()
	if s.list {
		return s.printList(found, &spec, unmeasured)
	}
	s.watch, err = found.Open(spec)
	if wrong, ok := errors.AsType[*calls.ConditionError](err); ok {
		return usage.Errorf("%w", wrong)
	}
	if err != nil {
		return fmt.Errorf("process %d: %w%s", pid, err, reasons(found))
	}
	s.tellRefused(found)
	s.tellUnmeasured(&spec, unmeasured)
	return s.tellOften("")
}

// missed is the error for a pattern, by its number, that names no function with code of its own.
func (s *session) missed(found *calls.Selection, i int) error {
	p := &s.patterns[i]
	if err := found.LineError(i); err != nil {
		return err
	}
	if in := s.process.OnlyInlined(p); len(in) > 0 {
		return fmt.Errorf("%s is only there where it was inlined, in %s: ask for these", p.Text, calls.FirstOf(in))
	}
	if copies := s.process.InlinedCopies(p); len(copies) > 0 {
		return fmt.Errorf("what %s names is only there where it was inlined: %s; ask for the functions around it", p.Text, copiesText(copies))
	}
	return s.process.NotFound(p)
}

// mostNamed bounds how many functions a message names.
const mostNamed = 3

// reasons says why some of the functions have no probe.
func reasons(found *calls.Selection) string {
	var texts []string
	n := 0
	for i := range found.Targets {
		if t := &found.Targets[i]; t.Err != nil {
			if n++; n <= mostNamed {
				texts = append(texts, fmt.Sprintf("%s: %v", t.Name, t.Err))
			}
		}
	}
	if n > mostNamed {
		texts = append(texts, "…")
	}
	if n == 0 {
		return ""
	}
	return " (" + strings.Join(texts, "; ") + ")"
}

// tellRefused says how many functions are not counted.
func (s *session) tellRefused(found *calls.Selection) {
	refused := 0
	for i := range found.Targets {
		if found.Targets[i].Err != nil {
			refused++
		}
	}
	if refused > 0 {
		s.say("%d of %d functions are not counted%s; --list names all", refused, len(found.Targets), reasons(found))
	}
}

// close lifts the probes.
func (s *session) close() error {
	var err error
	if s.watch != nil {
		err = s.watch.Close()
		s.watch = nil
	}
	if s.process != nil {
		s.process.Close()
		s.process = nil
	}
	return err
}
