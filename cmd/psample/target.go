package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"ptools/internal/profile"
	"ptools/internal/sample"
	"ptools/pctl"
)

// Exit statuses of a command that could not be started, as of a shell.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// acquire grabs the processes, or starts the command, which then waits before its
// first instruction.
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
		if err != nil {
			return err
		}
		s.targets = append(s.targets, p)
		if err := s.timers.Want(pid); err != nil {
			return err
		}
	}
	return nil
}

// hook is what counts the threads of the next target, nil if nobody does.
func (s *session) hook() func(creator, child int, regs *pctl.Registers) {
	if s.creations == nil {
		return nil
	}
	hook, bind := s.creations.Hook()
	s.binds = append(s.binds, bind)
	return func(creator, child int, regs *pctl.Registers) { hook(creator, child, (*sample.Registers)(regs)) }
}

func (s *session) start(ctx context.Context, command func() (*pctl.Command, pctl.Mode, error)) error {
	cmd, release, err := command()
	if err != nil {
		return err
	}
	o := &pctl.CreateOptions{Stop: []pctl.Point{pctl.PointCreate}, Release: release}
	o.OnThreadStart = s.hook()
	p, err := s.pctl.Create(ctx, cmd, o)
	if err != nil {
		return startError(err)
	}
	s.targets = append(s.targets, p)
	return s.timers.Want(p.PID())
}

// userCommand is the COMMAND with our terminal and descriptors. It survives us.
func (s *session) userCommand() (*pctl.Command, pctl.Mode, error) {
	name := s.cfg.command[0]
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		if e, ok := errors.AsType[*exec.Error](err); ok {
			err = e.Err
		}
		return nil, 0, startError(fmt.Errorf("create %s: %w", name, err))
	}
	return &pctl.Command{
		Path:  path,
		Args:  s.cfg.command,
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	}, pctl.ModeRun, nil
}

// startError gives an error the status that a shell would give it.
func startError(err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return statusError{exitNotFound, err}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.EISDIR),
		errors.Is(err, pctl.Err32Bit):
		return statusError{exitNotExecutable, err}
	}
	return err
}

// tellWaiting says that a command outlives its profile.
func (s *session) tellWaiting(signals *signals) {
	t := s.targets[0]
	select {
	case <-t.Done():
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
// again says that nobody wants to wait any more.
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
	e, err := s.targets[0].Wait(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx).(signalled).status(), nil
	case err != nil:
		return 0, err
	case e.Kind == pctl.KindLost:
		return 0, fmt.Errorf("sample %d: %w", e.PID, e.Err)
	case e.Exited:
		return e.Code, nil
	}
	return 128 + e.Signal, nil
}

// signalled is the signal that has ended a waiting.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return s.String() }

// status is what a shell would say of a process that it ended.
func (s signalled) status() int {
	if sig, ok := s.Signal.(syscall.Signal); ok {
		return 128 + int(sig)
	}
	return exitFailure
}
