package handle

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"ptools/internal/debuginfod"
	"ptools/internal/patience"
	"ptools/internal/procfs"
)

// A source opens files for one process, inside its root. An elfsym.File keeps the
// source of the process that opened it first. It may look for its separate debug
// file long after that process's Space is closed. Then the source opens the file in
// our own root, if the process had the same root, or opens the process's root again.
type source struct {
	pid    int
	start  uint64 // start time
	shared bool   // its root is ours

	mu   sync.Mutex
	root *procfs.Root // nil once closed
}

func newSource(pid int) (*source, error) {
	st, err := procfs.ReadStat(pid)
	if err != nil {
		return nil, err
	}
	root, err := procfs.OpenRoot(pid)
	if err != nil {
		return nil, err
	}
	return &source{pid: pid, start: st.StartTime, shared: root.Ours(), root: root}, nil
}

// OpenDebug opens a regular file by an absolute path.
func (s *source) OpenDebug(path string) (*os.File, error) {
	f, err := patience.Do(func() (*os.File, error) { return s.openDebug(path) }, func(f *os.File) { f.Close() })
	procfs.NoteLack(err) // a debug file is not asked for again
	return f, err
}

// OpenID opens a debug file that was fetched. It is in our own root: the user's cache has it.
func (s *source) OpenID(id string) (*os.File, error) { return debuginfod.Open(id) }

func (s *source) openDebug(path string) (*os.File, error) {
	if root := s.held(); root != nil {
		f, err := root.Open(path)
		if !errors.Is(err, os.ErrClosed) {
			return f, err
		}
	}
	root, err := s.again()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Open(path)
}

// held returns the root of the open Space. The root may be closed while it is used;
// the error is os.ErrClosed then.
func (s *source) held() *procfs.Root {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.root
}

// again opens the root for one use.
func (s *source) again() (*procfs.Root, error) {
	if s.shared {
		return procfs.OpenRoot(os.Getpid())
	}
	root, err := procfs.OpenRoot(s.pid)
	if err != nil {
		return nil, err
	}
	if st, err := procfs.ReadStat(s.pid); err != nil || st.StartTime != s.start {
		root.Close()
		return nil, fs.ErrNotExist
	}
	return root, nil
}

// openMapped opens the file that is mapped at m.
func (s *source) openMapped(m procfs.Map) (*os.File, error) {
	if root := s.held(); root != nil {
		return root.OpenMapped(m)
	}
	return nil, os.ErrClosed
}

func (s *source) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root != nil {
		s.root.Close()
		s.root = nil
	}
}
