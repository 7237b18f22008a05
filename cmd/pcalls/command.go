package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"ptools/internal/job"
	"ptools/pctl"
)

// created starts the command and counts its calls, those of initializers included. It returns the command's exit status.
func (s *session) created(ctx context.Context) (status int, err error) {
	command := job.NewCommand()
	defer command.Close()
	received := make(chan os.Signal, 4)
	for _, sig := range command.Signals() {
		if !signal.Ignored(sig) { // as under nohup
			signal.Notify(received, sig)
		}
	}
	defer command.Uncatch(received)
	if err := pctl.QuietStops(); err != nil {
		return 0, err
	}
	owner := pctl.NewSession(nil)
	defer func() { err = errors.Join(err, owner.Close()) }()
	p, err := s.start(ctx, owner)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.traps = trapping{owner: owner, command: p}
	if err := s.find(ctx, p.PID()); err != nil || s.list {
		end(p)
		return 0, err
	}
	s.parts[0].watch.Begin()
	if s.parts[0].trapped {
		return s.traps.count(ctx, s, command, received)
	}
	if err := p.Release(ctx); err != nil {
		return 0, err
	}
	child := command.Child(p.PID())
	child.Begin()
	defer child.Reap()
	return s.wait(ctx, command, child, received)
}

// wait counts until the command ends, with --follow all of its processes, or a signal says so, and waits for the command.
func (s *session) wait(ctx context.Context, command *job.Command, child *job.Child, received <-chan os.Signal) (int, error) {
	counting, waiting, leave := passing(ctx, command, child.PID, received)
	defer leave(nil)
	ended := child.Done()
	if s.follow {
		ended = s.parts[0].over(counting)
	}
	err := s.count(counting, ended)
	counting.end()
	if s.follow {
		<-ended // it uses the watch
	}
	if err := errors.Join(err, s.close()); err != nil {
		return 0, err
	}
	status, err := child.Wait(waiting)
	if sig, ok := errors.AsType[signalled](context.Cause(waiting)); ok && err != nil {
		return sig.status(), nil
	}
	return status, err
}

// ending is a context that can be ended.
type ending struct {
	context.Context
	end context.CancelFunc
}

// passing passes signals to the command: the first that it has not got by itself also ends the counting, and the second one the wait for the command.
func passing(ctx context.Context, command *job.Command, pid int, received <-chan os.Signal) (counting ending, waiting context.Context, leave context.CancelCauseFunc) {
	counting.Context, counting.end = context.WithCancel(ctx)
	waiting, leave = context.WithCancelCause(ctx)
	go func() { // ends with waiting
		defer counting.end()
		for first := true; ; {
			select {
			case <-waiting.Done():
				return
			case sig := <-received:
				if sig != os.Interrupt && command.Has(sig) {
					continue
				}
				if !first {
					leave(signalled{sig})
				} else if p, err := os.FindProcess(pid); err == nil && (sig != os.Interrupt || !job.Foreground()) {
					p.Signal(sig) // an error means that it has ended
				}
				first = false
				counting.end()
			}
		}
	}()
	return counting, waiting, leave
}

// signalled is the signal that has ended a wait.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return s.String() }

// status returns the exit status that a shell reports for a process that the signal ended.
func (s signalled) status() int {
	if sig, ok := s.Signal.(syscall.Signal); ok {
		return 128 + int(sig)
	}
	return exitFailure
}

// end kills the command, which is held before its first initializer.
func end(p *pctl.Process) {
	if p, err := os.FindProcess(p.PID()); err == nil {
		p.Kill() // an error means that it has ended
	}
}

// start starts the command, and returns it when its objects are mapped and none of its own code has run.
func (s *session) start(ctx context.Context, owner *pctl.Session) (*pctl.Process, error) {
	name := s.command[0]
	path, err := job.LookPath("pcalls", name)
	if err != nil {
		return nil, statusError{job.StartStatus(err), fmt.Errorf("create %s: %w", name, err)}
	}
	p, err := owner.Create(ctx, &pctl.Command{Path: path, Args: s.command, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}},
		&pctl.CreateOptions{Stop: []pctl.Point{pctl.PointPreinit}, Release: pctl.ModeRun})
	if err != nil {
		return nil, statusError{job.StartStatus(err), err}
	}
	events := p.Events(nil)
	defer events.Close()
	for {
		switch e, err := events.Next(ctx); {
		case err != nil:
			return nil, err
		case e.Kind == pctl.KindStopped:
			return p, nil
		case e.Kind == pctl.KindUndead:
			return nil, statusError{job.EndStatus(e), &pctl.Error{Op: "count", PID: p.PID(), Err: &pctl.EndError{End: e}}}
		case e.Kind == pctl.KindLost:
			return nil, e.Err
		}
	}
}
