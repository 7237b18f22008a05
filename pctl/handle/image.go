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

// An image is what is known of a mapped file, wherever it is mapped. The file is
// opened when it is first needed.
type image struct {
	state atomic.Pointer[loaded]
	mu    sync.Mutex // held by the goroutine that opens it
}

// loaded is an opened image. It has no file and no table if the file is not ELF,
// or cannot be opened.
type loaded struct {
	file  *elfsym.File
	table *unwind.Table
	err   error // why its file system could not open it
}

// lack returns the error of the file's file system, if that does not answer or is gone.
func (l *loaded) lack() error {
	if l.err == nil && l.file != nil && l.file.Hung() {
		return unanswered(l.file.Path(), patience.ErrHung)
	}
	return l.err
}

// missed records what could not be read of an image.
func (s *Space) missed(l *loaded) {
	if err := l.lack(); err != nil {
		s.lack.Store(&err)
	}
}

// load opens the object's image. It returns an error if that failed for a reason
// that may be temporary, such as a lack of descriptors.
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
	if refused(err) && o.id.special == "" {
		file, err = s.openLoaded(o, err)
	}
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

// unanswered returns the error of a file system that did not deliver the file at path: it hangs, or its server or device
// is gone. The text is the same for all operations, open(2) and reads of the headers. unanswered returns nil if err is
// an error of the file itself.
func unanswered(path string, err error) error {
	e := among(err, patience.ErrHung, syscall.ENOTCONN, syscall.ESTALE, syscall.EIO, syscall.ESHUTDOWN, syscall.ETIMEDOUT)
	if e == nil {
		return nil
	}
	return &os.PathError{Op: "read", Path: path, Err: e}
}

// among returns the first error in of that err is; nil if there is none.
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
	device := elfsym.Device{Major: o.maps[0].Major, Minor: o.maps[0].Minor}
	if s.files.Silent(device) {
		return nil, patience.ErrHung
	}
	file, err := patience.Do(func() (*elfsym.File, error) {
		f, err := s.source.openMapped(o.maps[0])
		if err != nil {
			return nil, err
		}
		return s.files.Open(f, o.path, s.source)
	}, func(*elfsym.File) {}) // the cache has it
	if err == patience.ErrHung || err == nil && file.Hung() {
		s.files.Silence(device)
	}
	return file, err
}

// bias returns the difference between addresses in the region and the file's own
// addresses. Each mapping may have another bias: code that is no run-time linker
// may map a file in parts.
func (l *loaded) bias(r *region) (uint64, bool) {
	if l.file == nil {
		return 0, false
	}
	return bias(l.file.Segments(), &r.Map)
}

// bias finds the segment that a mapping shows, and returns its bias. Segments are
// mapped in whole pages, so one page of the file may be mapped twice, for the end
// of one segment and the beginning of the next. Then bias takes the segment that
// starts there, or that has the access of the mapping.
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
