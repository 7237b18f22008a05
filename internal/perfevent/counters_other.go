//go:build !linux

package perfevent

// Counters do not exist on this platform.
type Counters struct{}

// OpenCounters fails with [ErrNoUprobes].
func OpenCounters(path string, offs []uint64, pid int) (*Counters, error) {
	return nil, ErrNoUprobes
}

// Count returns 0.
func (c *Counters) Count(i int) uint64 { return 0 }

// Close fails with [ErrNoUprobes].
func (c *Counters) Close() error { return ErrNoUprobes }
