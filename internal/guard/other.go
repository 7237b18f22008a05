//go:build !linux

package guard

// Main does nothing: there is no guard on this system.
func Main() {}

// A Guard does nothing on this system.
type Guard struct{}

// A Watch does nothing on this system.
type Watch struct{}

// Watch returns nil.
func (g *Guard) Watch(pid int) *Watch { return nil }

// Planting does nothing.
func (w *Watch) Planting(addr uint64, ours, orig []byte) {}

// Lifted does nothing.
func (w *Watch) Lifted(addr, n uint64) {}

// Forget does nothing.
func (w *Watch) Forget() {}

// Close does nothing.
func (w *Watch) Close() {}
