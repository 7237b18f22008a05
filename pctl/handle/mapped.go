package handle

import (
	"os"

	"ptools/internal/elfsym"
	"ptools/internal/procfs"
	"ptools/internal/unwind"
)

// A Mapped is a file that processes map, opened once for all of them. Its methods may be called from any goroutine.
type Mapped struct {
	path string
	loaded
}

// OpenMapped opens the file of a mapping through the first of some processes that exists and has the file. The process of
// the mapping may have ended. If none of them has the file, it is opened through this program. If the file cannot be
// opened, or is not ELF, the Mapped knows nothing.
func OpenMapped(m procfs.Map, files *elfsym.Cache, pids ...int) *Mapped {
	f := &Mapped{path: m.Path}
	for _, pid := range append(pids, os.Getpid()) {
		src, err := newSource(pid)
		if err != nil {
			continue
		}
		s := Unreadable(pid, files)
		s.source = src
		o := &object{id: fileIDOf(&m), path: m.Path, start: m.Start, end: m.End, image: new(image), maps: []procfs.Map{m}}
		l, err := s.load(o)
		s.Close()
		if err == nil && l.file != nil {
			f.loaded = *l
			break
		}
	}
	return f
}

// File is the file, nil if it could not be opened.
func (f *Mapped) File() *elfsym.File { return f.file }

// Table is the file's unwind table, nil without a file.
func (f *Mapped) Table() *unwind.Table { return f.table }

// Code describes a mapping of the file.
func (f *Mapped) Code(m *procfs.Map) unwind.Mapping {
	code := unwind.Mapping{Start: m.Start, End: m.End}
	if f.file == nil {
		return code
	}
	if bias, ok := bias(f.file.Segments(), m); ok {
		code.Bias, code.Table = bias, f.table
	}
	if m.Path == vdsoName {
		code.Special = unwind.VDSO
	}
	return code
}

// Symbolize appends to dst what is known of an address of the file.
func (f *Mapped) Symbolize(addr uint64, how How, dst []Frame) []Frame {
	if f.file == nil {
		return append(dst, Frame{PC: addr, Object: f.path})
	}
	at := addr
	if how&Return != 0 && at > 0 {
		at--
	}
	frames := f.frames(addr, at, 0, how)
	for i := range frames {
		frames[i].Object, frames[i].BuildID = f.path, f.file.BuildID()
	}
	return append(dst, frames...)
}
