package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"

	"ptools/internal/calls"
	"ptools/internal/clean"
	"ptools/internal/job"
	"ptools/internal/procfs"
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
	job.SayLost("pcalls", stdout, stderr)
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
	job.FetchDebug(ctx, "pcalls", stderr, cfg.command, cfg.pids)
	if len(cfg.pids) > 0 {
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
	parts          []*part
	about          string // what lines are about that are said: one of several processes
	said           map[string]bool
	uncounted      int // processes of several that could not be counted
	traps          trapping
}

// A part of a session is the calls of one process.
type part struct {
	process *calls.Process
	watch   *calls.Watch  // nil with --list
	name    string        // its number and what it is called
	later   []string      // objects with functions that are asked for, loaded since
	missed  bool          // others were loaded and unloaded too fast to be seen
	trapped bool          // threads are stopped at int3s
	held    *pctl.Process // for that; nil: it is not our concern
}

// say prints a line about the run on standard error. Of several processes that have the same one the first prints it.
func (s *session) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.quiet || s.about != "" && s.said[text] {
		return
	}
	if s.about != "" {
		if s.said == nil {
			s.said = map[string]bool{}
		}
		s.said[text] = true
		text = s.about + ": " + text
	}
	fmt.Fprintf(s.stderr, "pcalls: %s\n", clean.Text(text))
}

// ofEach calls f for each process, about which lines are said meanwhile.
func (s *session) ofEach(f func(*part)) {
	for _, p := range s.parts {
		if len(s.parts) > 1 {
			s.about = "process " + p.name
		}
		f(p)
	}
	s.about = ""
}

// refusal returns why a process cannot be looked at, which a grab knows better than what has failed.
func refusal(ctx context.Context, pid int, err error) error {
	session := pctl.NewSession(nil)
	defer session.Close()
	p, refused := session.Grab(ctx, pid, &pctl.GrabOptions{ReadOnly: true})
	if refused != nil {
		return refused
	}
	p.Close()
	return fmt.Errorf("process %d: %w", pid, err)
}

// find looks for the functions in a process, and prints them with --list. Otherwise it makes the probes, and the process is a part of the session.
func (s *session) find(ctx context.Context, pid int) (err error) {
	p := &part{name: processName(pid)}
	defer func() {
		if err != nil {
			p.close()
		} else {
			s.parts = append(s.parts, p)
		}
	}()
	if p.process, err = calls.OpenProcess(pid); err != nil {
		return refusal(ctx, pid, err)
	}
	spec := s.spec()
	cost := s.measure(&spec)
	defer cost()
	found, err := p.process.Select(s.patterns, spec.Arguments())
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	if all := found.Missed(); len(all) > 0 {
		return missed(p.process, &s.patterns[all[0]], found, all[0])
	}
	unmeasured := cost()
	if s.list {
		return s.printList(p.process, found, &spec, unmeasured)
	}
	p.watch, err = s.traps.open(ctx, s, p, found, &spec)
	if wrong, ok := errors.AsType[*calls.ConditionError](err); ok {
		return usage.Errorf("%w", wrong)
	}
	if err != nil {
		return fmt.Errorf("process %d: %w%s", pid, err, reasons(found))
	}
	s.tellRefused(found)
	if !p.trapped {
		s.tellUnmeasured(p.watch, &spec, unmeasured)
	}
	return s.tellOften(p.watch, "")
}

// findAll is find for each process. One that cannot be counted is an error if it is the only one; of several it is said, and the others are counted.
func (s *session) findAll(ctx context.Context) error {
	var first error
	for _, pid := range s.pids {
		if len(s.pids) > 1 {
			s.about = "process " + processName(pid)
		}
		if err := s.find(ctx, pid); err != nil {
			if first == nil {
				first = err
			}
			if len(s.pids) > 1 {
				s.uncounted++
				fmt.Fprintf(s.stderr, "pcalls: %s\n", clean.Text(message(err)))
			}
		}
	}
	s.about = ""
	switch {
	case len(s.parts) > 0:
		return nil
	case len(s.pids) > 1:
		return fmt.Errorf("none of the %d processes is counted", len(s.pids))
	}
	return first
}

// processName is the number and the name of a process. One that has ended has no name any more.
func processName(pid int) string {
	text := strconv.Itoa(pid)
	if comm, err := procfs.ReadComm(pid, pid); err == nil {
		text += " " + comm
	}
	return text
}

// missed is the error for a pattern, by its number, that names no function with code of its own.
func missed(process *calls.Process, p *calls.Pattern, found *calls.Selection, i int) error {
	if err := found.LineError(i); err != nil {
		return err
	}
	if in := process.OnlyInlined(p); len(in) > 0 {
		return fmt.Errorf("%s is only there where it was inlined, in %s: ask for these", p.Text, calls.FirstOf(in))
	}
	if copies := process.InlinedCopies(p); len(copies) > 0 {
		return fmt.Errorf("what %s names is only there where it was inlined: %s; ask for the functions around it", p.Text, copiesText(copies))
	}
	return process.NotFound(p)
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
	if names := wordsSummed(found); len(names) > 0 {
		s.say("no debug information says what is summed: it is taken for a number of 8 bytes, and a negative one of 4 bytes counts as 4294967296 more (%s)", firstOf(names))
	}
}

// wordsSummed returns functions of which words are summed that may be numbers of fewer bytes.
func wordsSummed(found *calls.Selection) (names []string) {
	for i := range found.Targets {
		if t := &found.Targets[i]; t.Err == nil && t.SumsWords() {
			names = append(names, t.Name)
		}
	}
	return names
}

// close lifts the probes.
func (s *session) close() error {
	var errs []error
	for _, p := range s.parts {
		errs = append(errs, p.close())
	}
	s.parts = nil
	return errors.Join(append(errs, s.traps.end())...)
}

func (p *part) close() (err error) {
	if p.watch != nil {
		err = p.watch.Close()
	}
	err = errors.Join(err, p.release())
	if p.process != nil {
		p.process.Close()
	}
	return err
}
