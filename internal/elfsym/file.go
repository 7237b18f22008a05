package elfsym

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
)

// A Source finds separate debug files. The profiler's opens paths inside the
// mount namespace of the process that maps the file.
type Source interface {
	// OpenDebug opens the regular file at an absolute path.
	OpenDebug(path string) (*os.File, error)
}

// A File is one ELF file. It never changes; all methods may be called from any
// goroutine.
type File struct {
	path     string
	file     view
	src      Source
	debug    bool // is itself a separate debug file: looks for no other
	hdr      *headers
	segments []Segment
	text     []span // executable ranges, sorted

	buildID lazy[string]
	dynamic lazy[dynamic]
	tables  lazy[[]*symTable]
	index   lazy[*addrIndex]
	plt     lazy[*pltTable]
	goTable lazy[*GoTable]
	lines   lazy[*dwarfFile]
	other   lazy[*File] // separate debug file
	mini    lazy[*File] // .gnu_debugdata

	sequences lazy[[]span]

	loaded sectionCache
	byName nameCache
}

// lazy is a value that the first caller computes and everybody else waits for.
type lazy[T any] struct {
	once sync.Once
	v    T
}

func (l *lazy[T]) get(f func() T) T {
	l.once.Do(func() { l.v = f() })
	return l.v
}

// New reads the headers of the file of size bytes behind r. The path is only
// what Path returns and where the search for a separate debug file starts.
// src may be nil: then no separate debug file is looked for. r is read until
// the File is unreachable; its ReadAt must be safe for concurrent use, as that
// of *os.File is. The error wraps ErrFormat.
func New(r io.ReaderAt, size int64, path string, src Source) (*File, error) {
	file := fileView(r, size)
	h, err := readHeaders(file)
	if err != nil {
		return nil, fmt.Errorf("elfsym: %s: %w", path, err)
	}
	f := &File{path: path, file: file, src: src, hdr: h}
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

// Type returns the file's type: ET_EXEC, ET_DYN, …
func (f *File) Type() elf.Type { return f.hdr.kind }

// Machine returns the processor the file is for.
func (f *File) Machine() elf.Machine { return f.hdr.machine }

// Entry returns the address at which execution starts, 0 if there is none.
func (f *File) Entry() uint64 { return f.hdr.entry }

// Segments returns the loadable segments in the order of the program headers.
// The caller must not change them.
func (f *File) Segments() []Segment { return f.segments }

func (f *File) prog(kind elf.ProgType) (Segment, bool) {
	for _, p := range f.hdr.progs {
		if p.kind == kind {
			return p.Segment, true
		}
	}
	return Segment{}, false
}

// ReadAddr fills b with what the file holds at a link-time address, and
// reports whether all of it is in one segment's file part.
func (f *File) ReadAddr(b []byte, addr uint64) bool {
	return f.addrView(addr).readAt(b, 0)
}

// addrView returns the bytes from addr to the end of its segment's file part.
func (f *File) addrView(addr uint64) view {
	for i := range f.segments {
		if s := &f.segments[i]; s.contains(addr) {
			return f.file.sub(s.Off+(addr-s.Vaddr), s.Filesz-(addr-s.Vaddr))
		}
	}
	return view{}
}

// A span is a range of addresses.
type span struct{ start, end uint64 }

// textSpans returns the executable sections, or the executable segments where
// there are no sections, sorted and without overlaps.
func textSpans(h *headers) []span {
	var t []span
	const code = elf.SHF_ALLOC | elf.SHF_EXECINSTR
	for _, s := range h.sections {
		if s.flags&code == code && s.size > 0 && s.size < ^uint64(0)-s.addr {
			t = append(t, span{s.addr, s.addr + s.size})
		}
	}
	if t == nil {
		for _, p := range h.progs {
			if p.kind == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Memsz > 0 {
				t = append(t, span{p.Vaddr, p.Vaddr + p.Memsz})
			}
		}
	}
	slices.SortFunc(t, func(a, b span) int {
		switch {
		case a.start < b.start:
			return -1
		case a.start > b.start:
			return 1
		}
		return 0
	})
	for i := 1; i < len(t); i++ {
		t[i].start = max(t[i].start, t[i-1].end)
		t[i].end = max(t[i].end, t[i].start)
	}
	return t
}

// textEnd returns the end of the executable range that holds addr.
func (f *File) textEnd(addr uint64) (uint64, bool) {
	i, found := slices.BinarySearchFunc(f.text, addr, func(s span, a uint64) int {
		switch {
		case s.end <= a:
			return -1
		case s.start > a:
			return 1
		}
		return 0
	})
	if !found {
		return 0, false
	}
	return f.text[i].end, true
}
