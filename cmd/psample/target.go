package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"ptools/internal/creations"
	"ptools/internal/job"
	"ptools/internal/profile"
	"ptools/internal/source"
	"ptools/pctl"
)

// acquire grabs the processes, or starts the command. The command then waits
// before its first instruction.
func (s *session) acquire(ctx context.Context) error {
	switch {
	case s.cfg.demo:
		return s.start(ctx, demoCommand)
	case s.isCommand():
		return s.start(ctx, s.userCommand)
	}
	for _, pid := range s.cfg.pids {
		o := &pctl.GrabOptions{Release: pctl.ModeRun, ReadOnly: s.timers != nil}
		o.OnThreadStart = s.hook()
		p, err := s.pctl.Grab(ctx, pid, o)
		if s.cfg.found && errors.Is(err, pctl.ErrNoProcess) {
			s.binds = s.binds[:len(s.targets)*min(1, len(s.binds))]
			continue // it has ended since it was looked for
		}
		if err != nil {
			return err
		}
		if err := s.births.Follow(ctx, p); err != nil {
			return err
		}
		s.targets = append(s.targets, p)
		if err := s.timers.Want(pid); err != nil {
			return &source.Error{PID: pid, Err: err}
		}
	}
	if len(s.targets) == 0 {
		return errors.New("the processes that were meant have ended")
	}
	return nil
}

// hook returns the function that counts the threads of the next target, nil if
// they are not counted.
func (s *session) hook() func(creator, child int, regs *pctl.Registers) {
	if s.creations == nil {
		return nil
	}
	hook, bind := s.creations.Hook()
	s.binds = append(s.binds, bind)
	return func(creator, child int, regs *pctl.Registers) { hook(creator, child, (*creations.Registers)(regs)) }
}

func (s *session) start(ctx context.Context, command func() (*pctl.Command, pctl.Mode, error)) error {
	cmd, release, err := command()
	if err != nil {
		return err
	}
	o := &pctl.CreateOptions{Stop: []pctl.Point{pctl.PointCreate}, Release: release}
	o.OnThreadStart = s.hook()
	p, err := s.pctl.Create(ctx, cmd, o)
	if errors.Is(err, pctl.ErrMachine) && s.timers != nil {
		return s.startUntraced(ctx, cmd)
	}
	if err != nil {
		return statusError{job.StartStatus(err), err}
	}
	s.targets = append(s.targets, p)
	if err := s.births.Follow(ctx, p); err != nil {
		return err
	}
	if s.isCommand() && s.timers != nil {
		s.child = s.job.Child(p.PID())
	}
	return s.timers.Want(p.PID())
}

// startUntraced starts a command where none can be controlled. Sampling by timers does without control.
func (s *session) startUntraced(ctx context.Context, cmd *pctl.Command) (err error) {
	if s.held, err = job.Hold(cmd); err != nil {
		return statusError{job.StartStatus(err), err}
	}
	p, err := s.pctl.Grab(ctx, s.held.PID(), &pctl.GrabOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	s.targets = append(s.targets, p)
	s.child = s.job.Child(p.PID())
	return s.timers.Want(p.PID())
}

// endHeld ends a command that was started without control, unless it is the user's and runs.
func (s *session) endHeld() {
	if s.held != nil && !(s.isCommand() && s.held.Begun()) {
		s.held.Kill()
	}
}

// userCommand returns the COMMAND with our terminal and descriptors. It survives
// us.
func (s *session) userCommand() (*pctl.Command, pctl.Mode, error) {
	name := s.cfg.command[0]
	path, err := job.LookPath("psample", name)
	if err != nil {
		return nil, 0, statusError{job.StartStatus(err), fmt.Errorf("create %s: %w", name, err)}
	}
	return &pctl.Command{
		Path:  path,
		Args:  s.cfg.command,
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	}, pctl.ModeRun, nil
}

// tellWaiting says that a command outlives its profile.
func (s *session) tellWaiting(signals *signals) {
	t := s.targets[0]
	select {
	case <-s.ended(t):
		return
	default:
	}
	signals.waiting.Store(true)
	if !s.cfg.quiet {
		fmt.Fprintf(s.stderr, "psample: %s (pid %d) is still running, waiting for it; ^C ends it\n",
			profile.Clean(filepath.Base(s.cfg.command[0])), t.PID())
	}
}

// await returns the exit status of the command once it has ended. A signal from
// again ends the wait, and is the error then.
func (s *session) await(again <-chan os.Signal) (int, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() { // ends with cancel
		select {
		case sig := <-again:
			cancel(signalled{sig})
		case <-ctx.Done():
		}
	}()
	if s.child != nil {
		status, err := s.child.Wait(ctx)
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		s.reap()
		return status, err
	}
	e, err := s.targets[0].Wait(ctx)
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, err
	case e.Kind == pctl.KindLost:
		return 0, fmt.Errorf("sample %d: %w", e.PID, e.Err)
	}
	return job.EndStatus(e), nil
}

// signalled is the signal that has ended a wait.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return s.String() }

// status returns the exit status that a shell reports for a process that the
// signal ended.
func (s signalled) status() int {
	if sig, ok := s.Signal.(syscall.Signal); ok {
		return 128 + int(sig)
	}
	return exitFailure
}
