//go:build !linux

package preempt

import (
	"errors"
	"time"
)

// Seat is that of Linux.
type Seat struct{}

// Open returns an [errors.ErrUnsupported].
func Open() (*Seat, error) { return nil, errors.ErrUnsupported }

// Take is that of Linux.
func (s *Seat) Take(cpu int, sleep time.Duration) (began int64, late time.Duration, err error) {
	return 0, 0, errors.ErrUnsupported
}

// Leave is that of Linux.
func (s *Seat) Leave() {}

// Close is that of Linux.
func (s *Seat) Close() error { return nil }
