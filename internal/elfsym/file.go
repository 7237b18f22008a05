package elfsym

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"ptools/internal/patience"
)

// A Source opens separate debug files. The profiler's Source opens paths
// inside the mount namespace of the process that maps the file.
type Source interface {
	// OpenDebug opens the regular file at an absolute path.
	OpenDebug(path string) (*os.File, error)
}

// A File is one ELF file. It never changes; all methods may be called from any
// goroutine.
type File struct {
	image
	path string
	src  Source

	buildID lazy[string]
	lines   lazy[*dwarfFile] // it stays open, and lets go of what it has read
	other   lazy[*File]      // separate debug file, likewise

	missing missing
}

// lazy is a value that the first caller computes and all others wait for.
type lazy[T any] struct {
	once sync.Once
	done atomic.Bool
	v    T
}

func (l *lazy[T]) get(f func() T) T {
	l.once.Do(func() {
		l.v = f()
		l.done.Store(true)
	})
	return l.v
}

// peek returns the value if it was computed already.
func (l *lazy[T]) peek() (v T) {
	if l.done.Load() {
		v = l.v
	}
	return v
}

// New reads the headers of the file of size bytes behind r. The path is used
// only by Path, and as the start of the search for a separate debug file. If
// src is nil, no separate debug file is looked for. r is read until the File
// is unreachable. Its ReadAt must be safe for concurrent use, as that of
// *os.File is. The error wraps ErrFormat.
func New(r io.ReaderAt, size int64, path string, src Source) (*File, error) {
	return newProgram(r, size, path, src, 0)
}

// NewLoaded is New for a file as a process has it in memory: r has the bytes of the mapped parts, and base is the
// difference between run-time and link-time addresses. Run-time linkers replace the addresses in the dynamic section by
// run-time addresses.
func NewLoaded(r io.ReaderAt, size int64, path string, base uint64) (*File, error) {
	return newProgram(r, size, path, nil, base)
}

func newFile(r io.ReaderAt, size int64, path string, src Source, base uint64, b *budget) (*File, error) {
	file := fileView(r, size, b)
	h, err := readHeaders(file)
	if p, ok := r.(*Patient); err != nil && ok && p.Hung() {
		err = patience.ErrHung // not the error that follows from it
	}
	if err != nil {
		return nil, fmt.Errorf("elfsym: %s: %w", path, err)
	}
	f := &File{image: image{file: file, hdr: h, base: base, budget: b}, path: path, src: src}
	for _, p := range h.progs {
		if p.kind == elf.PT_LOAD {
			f.segments = append(f.segments, p.Segment)
		}
	}
	f.text = textSpans(h)
	return f, nil
}

// Path returns the path given to New.
func (f *File) Path() string { return f.path }
