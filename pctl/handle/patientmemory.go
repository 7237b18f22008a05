package handle

import (
	"sync/atomic"

	"ptools/internal/mem"
	"ptools/internal/patience"
)

// patientMemory is the memory of a process, part of which may never come: pages of a file whose file system does not answer,
// or that userfaultfd(2) has to fill. After such a read it reads nothing any more.
type patientMemory struct {
	mem  *mem.Memory
	hung atomic.Bool
}

func openMemory(pid int) (*patientMemory, error) {
	m, err := mem.Open(pid)
	if err != nil {
		return nil, err
	}
	return &patientMemory{mem: m}, nil
}

// ReadAt implements io.ReaderAt.
func (m *patientMemory) ReadAt(p []byte, addr int64) (int, error) {
	if m.hung.Load() {
		return 0, patience.ErrHung
	}
	b, err := patience.Do(func() ([]byte, error) {
		b := make([]byte, len(p)) // the caller may use p again after we have given up
		n, err := m.mem.ReadAt(b, addr)
		return b[:n], err
	}, func([]byte) {})
	if err == patience.ErrHung {
		m.hung.Store(true)
	}
	return copy(p, b), err
}

// close closes the memory. A read that never ends keeps it open.
func (m *patientMemory) close() {
	_, _ = patience.Do(func() (struct{}, error) { return struct{}{}, m.mem.Close() }, func(struct{}) {})
}

// memory opens the process's memory, once.
func (s *Space) memory() (*patientMemory, error) {
	s.memoryMu.Lock()
	defer s.memoryMu.Unlock()
	switch {
	case s.mem != nil:
		return s.mem, nil
	case s.closed:
		return nil, errGone
	}
	m, err := openMemory(s.pid)
	s.mem = m
	return m, err
}
