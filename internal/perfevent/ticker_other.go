//go:build !linux

package perfevent

import (
	"errors"
	"time"
)

// A Ticker does not exist on this platform.
type Ticker struct{}

// OpenTicker fails with [errors.ErrUnsupported].
func OpenTicker(TickerOptions) (*Ticker, error) { return nil, errors.ErrUnsupported }

// Want fails with [errors.ErrUnsupported].
func (c *Ticker) Want(int) error { return errors.ErrUnsupported }

// Drop does nothing.
func (c *Ticker) Drop(int) {}

// Read does nothing.
func (c *Ticker) Read(func(*Record)) (lost int64) { return 0 }

// Redraw does nothing.
func (c *Ticker) Redraw(func(int64) int64) {}

// Period returns 0.
func (c *Ticker) Period() time.Duration { return 0 }

// Close fails with [errors.ErrUnsupported].
func (c *Ticker) Close() error { return errors.ErrUnsupported }
