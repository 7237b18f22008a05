//go:build !linux

package perfevent

import "syscall"

// Signals do not exist on this platform, nor do their Links.
type (
	Signals struct{}
	Link    struct{}
)

// NewSignals fails with [ErrNoUprobes].
func NewSignals(pid int, sig syscall.Signal) (*Signals, error) { return nil, ErrNoUprobes }

// Probe fails with [ErrNoUprobes].
func (s *Signals) Probe(path string, off, cookie uint64) (*Link, error) { return nil, ErrNoUprobes }

// Switch does nothing.
func (l *Link) Switch(on bool) {}

// Close fails with [ErrNoUprobes].
func (l *Link) Close() error { return ErrNoUprobes }

// Switch does nothing.
func (s *Signals) Switch(on bool) {}

// Take returns false.
func (s *Signals) Take(tid int, h *Hit) bool { return false }

// Forget does nothing.
func (s *Signals) Forget(tid int) {}

// Close fails with [ErrNoUprobes].
func (s *Signals) Close() error { return ErrNoUprobes }
