package pctl

import (
	"errors"
	"io"

	"ptools/internal/mem"
)

// ReadAt reads the process's memory at addr, an address as a signed number
// (two's complement). It never returns breakpoints. If a range is mapped only at
// its beginning, ReadAt reads that part and returns an error. It implements
// io.ReaderAt and may be called from any goroutine, also from Handlers and in a
// Pause. What a running process writes meanwhile may be read in part.
func (p *Process) ReadAt(b []byte, addr int64) (int, error) {
	if err := p.open("read"); err != nil {
		return 0, err
	}
	if p.c != nil {
		n, err := p.c.ReadAt(b, addr)
		if !errors.Is(err, ErrReleased) {
			return n, p.fail("read", err)
		}
	}
	m, err := p.h.Memory()
	if err != nil {
		return 0, p.fail("read", err)
	}
	n, err := m.ReadAt(b, addr)
	return n, p.fail("read", err)
}

// WriteAt writes the process's memory, also where it is mapped read-only.
// Breakpoints in the range stay. It implements io.WriterAt and needs control.
func (p *Process) WriteAt(b []byte, addr int64) (int, error) {
	c, err := p.control("write")
	if err != nil {
		return 0, err
	}
	n, err := c.WriteAt(b, addr)
	return n, p.fail("write", err)
}

// ReadUint64 reads a word at an address from a Process, Snapshot, Hit or Delivery.
func ReadUint64(r io.ReaderAt, addr uint64) (uint64, error) { return mem.ReadUint64(r, addr) }

// userMemory returns the memory as the process itself may read it, or all if
// that cannot be had. It is for stacks, where there are no breakpoints.
func (p *Process) userMemory(all io.ReaderAt) io.ReaderAt {
	m, err := p.h.Memory()
	if err != nil {
		return all
	}
	return m.User()
}
