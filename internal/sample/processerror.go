package sample

import (
	"errors"

	"ptools/internal/source"
)

// err returns why processes that have not ended could no longer be sampled.
func (s *Sampler) err() error {
	var errs []error
	for _, p := range s.processes {
		select {
		case <-p.Control.Done():
		default:
			if p.err != nil {
				errs = append(errs, &source.Error{PID: p.PID, Err: p.err})
			}
		}
	}
	return errors.Join(errs...)
}
