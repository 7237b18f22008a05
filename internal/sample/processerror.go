package sample

import (
	"errors"
)

// err returns why processes that have not ended could no longer be sampled.
func (s *Sampler) err() error {
	var errs []error
	for _, p := range s.processes {
		select {
		case <-p.Control.Done():
		default:
			if p.err != nil {
				errs = append(errs, &ProcessError{p.PID, p.err})
			}
		}
	}
	return errors.Join(errs...)
}

// ProcessError is why one process could not be sampled.
type ProcessError struct {
	PID int
	Err error
}

func (e *ProcessError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ProcessError) Unwrap() error { return e.Err }
