//go:build !linux

package perfevent

import "errors"

// Tasks does not exist on this platform.
type Tasks struct{}

// OpenTasks fails with [errors.ErrUnsupported].
func OpenTasks(int) (*Tasks, error) { return nil, errors.ErrUnsupported }

// Read fails with [errors.ErrUnsupported].
func (*Tasks) Read() ([]TaskRecord, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Tasks) Close() error { return nil }
