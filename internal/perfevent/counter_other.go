//go:build !linux

package perfevent

// A Counter does not exist on this platform.
type Counter struct{}

// OpenCounter fails with [ErrNoUprobes].
func OpenCounter(pid int, path string, off, addr uint64) (*Counter, error) {
	return nil, ErrNoUprobes
}

// Count returns 0.
func (c *Counter) Count() uint64 { return 0 }

// Close fails with [ErrNoUprobes].
func (c *Counter) Close() error { return ErrNoUprobes }
