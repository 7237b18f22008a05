//go:build !linux

package perfevent

// Signals do not exist on this platform.
type Signals struct{}

// OpenSignals fails with [ErrNoUprobes].
func OpenSignals(path string, offs []uint64, pid int) (*Signals, error) {
	return nil, ErrNoUprobes
}

// Take returns nil.
func (s *Signals) Take(tid int) *Hit { return nil }

// Close fails with [ErrNoUprobes].
func (s *Signals) Close() error { return ErrNoUprobes }
