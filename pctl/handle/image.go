package handle

import (
	"debug/elf"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"ptools/internal/elfsym"
	"ptools/internal/patience"
	"ptools/internal/procfs"
	"ptools/internal/unwind"
)

// An image is what is known of a mapped file, wherever it is mapped. It is
// opened when first needed.
type image struct {
	state atomic.Pointer[loaded]
	mu    sync.Mutex // one opens it
}

// loaded is an opened image: no file and no table if it is not ELF, or
// cannot be opened.
type loaded struct {
	file  *elfsym.File
	table *unwind.Table
	err   error // why its file system could not open it
}

// lack returns why something that was asked of the file's file system has not been answered.
func (l *loaded) lack() error {
	if l.err == nil && l.file != nil && l.file.Hung() {
		return unanswered(l.file.Path(), patience.ErrHung)
	}
	return l.err
}

// missed takes note of what could not be read of an image.
func (s *Space) missed(l *loaded) {
	if err := l.lack(); err != nil {
		s.lack.Store(&err)
	}
}

// load opens the object's image. It returns an error if that failed for a
// reason that may pass, such as a lack of descriptors.
func (s *Space) load(o *object) (*loaded, error) {
	if l := o.image.state.Load(); l != nil {
		return l, nil
	}
	o.image.mu.Lock()
	defer o.image.mu.Unlock()
	if l := o.image.state.Load(); l != nil {
		return l, nil
	}
	l := new(loaded)
	file, err := s.open(o)
	if err == nil {
		l.file, l.table = file, tableOf(file)
	} else if transient(err) {
		s.lack.Store(&err)
		return l, err
	} else {
		l.err = unanswered(o.path, err)
	}
	o.image.state.Store(l)
	return l, nil
}

func transient(err error) bool {
	return among(err, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EINTR) != nil
}

// unanswered is the error of a file system that did not give the file at path: it hangs, its server or device is gone.
// Its text is the same whichever operation met that, open(2) or a read of the headers. nil where err is one of the
// file itself.
func unanswered(path string, err error) error {
	e := among(err, patience.ErrHung, syscall.ENOTCONN, syscall.ESTALE, syscall.EIO, syscall.ESHUTDOWN, syscall.ETIMEDOUT)
	if e == nil {
		return nil
	}
	return &os.PathError{Op: "read", Path: path, Err: e}
}

// among returns which of the errors err is; nil if none.
func among(err error, of ...error) error {
	if i := slices.IndexFunc(of, func(e error) bool { return errors.Is(err, e) }); i >= 0 {
		return of[i]
	}
	return nil
}

func (s *Space) open(o *object) (*elfsym.File, error) {
	switch {
	case o.id.special == vdsoName:
		return openVDSO(s.pid, o)
	case o.id.special != "":
		return nil, elfsym.ErrFormat
	}
	return patience.Do(func() (*elfsym.File, error) {
		f, err := s.source.openMapped(o.maps[0])
		if err != nil {
			return nil, err
		}
		return s.files.Open(f, o.path, s.source)
	}, func(*elfsym.File) {}) // the cache has it
}

// bias returns what to subtract from addresses of the region for the file's
// own. Each mapping has a bias of its own right: a file may be mapped in
// parts by code that is no run-time linker. Memory that replaces a part of the file
// has the bias of the object's first mapping.
func (l *loaded) bias(r *region) (uint64, bool) {
	if l.file == nil {
		return 0, false
	}
	m := &r.Map
	if m.Inode == 0 && r.object.id.special == "" {
		m = &r.object.maps[0]
	}
	return bias(l.file.Segments(), m)
}

// bias finds the segment that a mapping shows. Segments are mapped in whole
// pages, so one page of the file may be mapped twice, for the end of one
// segment and the beginning of the next: the one that starts there, or whose
// access is that of the mapping, is meant.
func bias(segments []elfsym.Segment, m *procfs.Map) (bias uint64, ok bool) {
	page := uint64(os.Getpagesize()) - 1
	best := -1
	for i := range segments {
		s := &segments[i]
		first, end := s.Off&^page, s.Off+s.Filesz
		if s.Filesz == 0 || end < s.Off || m.Off < first || m.Off >= (end+page)&^page {
			continue
		}
		score := 0
		if (s.Flags&elf.PF_X != 0) == (m.Perm&procfs.Exec != 0) {
			score += 2
		}
		if first == m.Off {
			score++
		}
		if score > best {
			best, bias, ok = score, m.Start-(s.Vaddr+(m.Off-s.Off)), true
		}
	}
	return bias, ok
}
