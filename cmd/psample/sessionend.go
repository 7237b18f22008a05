package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"ptools/internal/job"
	"ptools/pctl"
)

// tellEnded says which of the processes have ended, after the view was closed.
func (s *session) tellEnded() {
	for _, t := range s.targets {
		select {
		case <-s.ended(t):
			fmt.Fprintf(s.stderr, "psample: process %d has ended\n", t.PID())
		default:
		}
	}
}

// letGo ends the control of the command, which then runs. Sampling by timers needs no control, and each signal to a
// traced process costs two switches of threads.
func (s *session) letGo(ctx context.Context) error {
	t := s.targets[0]
	if err := t.Release(ctx); err != nil {
		return err
	}
	e, err := t.Wait(ctx)
	switch {
	case err != nil:
		return err
	case e.Kind == pctl.KindLost:
		return e.Err
	case e.Kind == pctl.KindUndead: // killed while it was held
		return pctl.ErrEnded
	}
	s.child.Begin()
	return nil
}

// early returns why there is no profile. If the command was killed while it was held, it says that.
func (s *session) early(err error) error {
	gone := errors.Is(err, pctl.ErrEnded) || errors.Is(err, pctl.ErrNoProcess) || errors.Is(err, syscall.ESRCH)
	if !s.isCommand() || len(s.targets) == 0 || !gone {
		return err
	}
	t := s.targets[0]
	t.Release(context.Background()) // if it lives, it is let go anyway
	e, _ := t.Wait(context.Background())
	switch e.Kind {
	case pctl.KindUndead:
		err = &pctl.Error{Op: "sample", PID: t.PID(), Err: &pctl.EndError{End: e}}
		return statusError{job.EndStatus(e), err}
	case pctl.KindReleased: // it was ending when it was let go: its parent is notified of its end
		child := s.job.Child(t.PID())
		child.Begin()
		if status, failed := child.Wait(context.Background()); failed == nil {
			child.Reap()
			return statusError{status, err}
		}
	}
	return err
}

// reap waits for a command that has ended, which frees its number.
func (s *session) reap() {
	if s.child != nil {
		s.child.Reap()
	}
}

// ended is closed when a target has ended, or when its control has.
func (s *session) ended(t *pctl.Process) <-chan struct{} {
	if s.child != nil {
		return s.child.Done()
	}
	return t.Done()
}
