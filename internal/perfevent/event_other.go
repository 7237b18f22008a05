//go:build !linux

package perfevent

// An Event does not exist on this platform.
type Event struct{}

// Supported returns [ErrNoUprobes].
func Supported() error { return ErrNoUprobes }

// Open fails with [ErrNoUprobes].
func Open(path string, off uint64, tid int, o *Options) (*Event, error) {
	return nil, ErrNoUprobes
}

// Count fails with [ErrNoUprobes].
func (e *Event) Count() (uint64, error) { return 0, ErrNoUprobes }

// Close fails with [ErrNoUprobes].
func (e *Event) Close() error { return ErrNoUprobes }
