//go:build !linux

package guard

// A Guard does nothing on this system.
type Guard struct{}

// Err returns nil.
func (g *Guard) Err() error { return nil }

// A Watch does nothing on this system.
type Watch struct{}

// Watch returns nil, whose methods do nothing.
func (g *Guard) Watch() *Watch { return nil }

// The methods of a Watch are those of Linux.
func (w *Watch) Bind(m Memory)                         {}
func (w *Watch) Planting(addr uint64, ours, orig byte) {}
func (w *Watch) Lifted(addr uint64)                    {}
func (w *Watch) Close()                                {}
