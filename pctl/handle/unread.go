package handle

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"ptools/internal/elfsym"
	"ptools/internal/mem"
	"ptools/internal/procfs"
)

// A file may be mapped and not be readable: it is in a directory that is closed to us, on a FUSE mount of another user, or
// deleted. What the process has mapped of it is in its memory: the program headers, and behind them the tables of
// exceptions and the dynamic symbols. They are read from there, as those of the vDSO.

// refused reports whether a file may not be read, or has no name by which it could be opened.
func refused(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)
}

// openLoaded reads an object from the memory of the process, and tells that its file may not be read. It does not tell of
// memory that is no ELF file, such as a memfd of a JIT compiler.
func (s *Space) openLoaded(o *object, why error) (*elfsym.File, error) {
	f, err := s.fromMemory(o)
	if !errors.Is(err, elfsym.ErrFormat) {
		s.files.Refuse(o.path, unreadFile(o, why))
	}
	return f, err
}

func (s *Space) fromMemory(o *object) (*elfsym.File, error) {
	first := &o.maps[0]
	if first.Off != 0 && strings.HasPrefix(first.Path, "/memfd:") {
		return nil, elfsym.ErrFormat
	}
	memory, err := s.memory()
	if err != nil || first.Off != 0 {
		return nil, errors.Join(fs.ErrPermission, err)
	}
	l := &loadedFile{mem: memory, maps: o.maps, pages: make(map[int64][]byte)}
	last := &o.maps[len(o.maps)-1]
	size := int64(last.Off + last.End - last.Start)
	f, err := elfsym.NewLoaded(l, size, o.path, 0)
	if err != nil {
		return nil, err
	}
	base, ok := bias(f.Segments(), first)
	if !ok {
		return nil, elfsym.ErrFormat
	}
	return elfsym.NewLoaded(l, size, o.path, base)
}

// unreadFile says which file may not be read, and why.
func unreadFile(o *object, why error) error {
	reason := "permission denied"
	switch {
	case o.maps[0].Deleted:
		reason = "it is deleted, and /proc/PID/map_files needs CAP_CHECKPOINT_RESTORE"
	case errors.Is(why, fs.ErrNotExist):
		reason = "it has no name here"
	case mayReadAll():
		reason = "its file system refuses us: it may be mounted by another user (FUSE without allow_other)"
	case os.Geteuid() == 0:
		reason = "permission denied without CAP_DAC_READ_SEARCH"
	}
	return fmt.Errorf("%s cannot be read: %s; only names that the process has in memory are known", o.path, reason)
}

// mayReadAll reports whether we have CAP_DAC_OVERRIDE or CAP_DAC_READ_SEARCH, which open all files of a local file system.
func mayReadAll() bool {
	st, err := procfs.ReadStatus(os.Getpid())
	return err == nil && st.CapEff&(1<<1|1<<2) != 0
}

// loadedFile is the mapped parts of a file, by their offsets in it. Pages are kept: the process may end.
type loadedFile struct {
	mem  *mem.Patient
	maps []procfs.Map

	mu    sync.Mutex
	pages map[int64][]byte // by offset; empty: not readable
}

const (
	loadedPage = 4 << 10
	// maxLoadedPages bounds what is kept of one file.
	maxLoadedPages = 16 << 10
	// sectionHeaders is where an ELF header says where the section headers are, and their number.
	sectionHeaders, sectionNumber = 40, 60
)

// ReadAt implements io.ReaderAt. The section headers are never there: what lies at their place in memory is not theirs.
func (l *loadedFile) ReadAt(b []byte, off int64) (n int, err error) {
	for n < len(b) {
		at := off + int64(n)
		page := l.page(at &^ (loadedPage - 1))
		if at &= loadedPage - 1; int64(len(page)) <= at {
			return n, io.ErrUnexpectedEOF
		}
		n += copy(b[n:], page[at:])
	}
	return n, nil
}

func (l *loadedFile) page(off int64) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if page, known := l.pages[off]; known {
		return page
	}
	page := l.read(off)
	if off == 0 && len(page) >= sectionNumber+4 {
		clear(page[sectionHeaders : sectionHeaders+8])
		clear(page[sectionNumber : sectionNumber+4])
	}
	if len(l.pages) < maxLoadedPages {
		l.pages[off] = page
	}
	return page
}

// read reads a page.
func (l *loadedFile) read(off int64) []byte {
	for i := range l.maps {
		m := &l.maps[i]
		if uint64(off) < m.Off || uint64(off)-m.Off >= m.End-m.Start || m.Perm&procfs.Read == 0 {
			continue
		}
		page := make([]byte, loadedPage)
		_, err := l.mem.ReadAt(page, int64(m.Start)+off-int64(m.Off))
		if err == nil {
			return page
		}
	}
	return nil
}
