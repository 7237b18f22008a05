package control

import (
	"context"

	"ptools/pctl/bkpt"
)

// ReadAt reads the target's memory, running or not, without our traps in it. It may
// be called from any goroutine and from handlers.
func (c *Controller) ReadAt(p []byte, addr int64) (n int, err error) {
	if e := c.either(context.Background(), func() { n, err = c.traps.readAt(p, addr) }); e != nil {
		return 0, e
	}
	return n, err
}

// WriteAt writes the target's memory; breakpoints in the range stay. It may be called
// from any goroutine and from handlers.
func (c *Controller) WriteAt(p []byte, addr int64) (n int, err error) {
	if e := c.either(context.Background(), func() { n, err = c.traps.writeAt(p, addr) }); e != nil {
		return 0, e
	}
	return n, err
}

// readAt reads the target's memory as if it had no breakpoints.
func (x *traps) readAt(p []byte, addr int64) (int, error) {
	n, err := x.g.Memory.Mem.ReadAt(p, addr)
	x.table.Overlay(p[:n], uint64(addr))
	if len(x.probes.leaving)+len(x.probes.parents) > 0 && bkpt.HasTrap(p[:n]) {
		x.hideLeaving()
		x.table.Overlay(p[:n], uint64(addr))
	}
	return n, err
}

// writeAt writes the target's memory under the breakpoints. It may wait: the memory of a program that is executed
// meanwhile is not written (TestWriteAcrossExec).
func (x *traps) writeAt(p []byte, addr int64) (int, error) {
	of, probes := x.c.image.program, x.probes.lasting()
	x.hideLeaving()
	if x.probes.inherited(uint64(addr), len(p)) {
		return 0, ErrForeignTrap
	}
	if probes > 0 {
		if err := x.seizeNewborn(of); err != nil {
			return 0, err
		}
	}
	if err := x.still(func() error {
		if of != x.c.image.program {
			return errReplacedProgram
		}
		return x.table.Write(p, uint64(addr))
	}); err != nil {
		return 0, err
	}
	if x.probes.lasting() < probes {
		x.killRisk.int3(errTextChanged)
	}
	return len(p), nil
}

// ReadAt reads the target's memory without our traps in it.
func (s *Stopped) ReadAt(p []byte, addr int64) (int, error) { return s.c.traps.readAt(p, addr) }

// WriteAt writes the target's memory; breakpoints in the range stay.
func (s *Stopped) WriteAt(p []byte, addr int64) (int, error) { return s.c.traps.writeAt(p, addr) }
