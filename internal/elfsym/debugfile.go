package elfsym

import (
	"bytes"
	"hash/crc32"
	"io"
	"path/filepath"
	"strings"
)

// debugRoot is where distributions put separate debug files.
const debugRoot = "/usr/lib/debug"

// separate returns the file's separate debug file, nil if there is none: by
// build id, then by .gnu_debuglink, in the order in which gdb looks (gdb
// manual, Separate Debug Files).
func (f *File) separate() *File {
	if f.src == nil || f.debug {
		return nil
	}
	return f.other.get(func() *File {
		if id := f.BuildID(); len(id) > 2 {
			path := debugRoot + "/.build-id/" + id[:2] + "/" + id[2:] + ".debug"
			if o := f.openDebug(path, func(o *File) bool { return o.BuildID() == id }); o != nil {
				return o
			}
		}
		return f.linkedDebug()
	})
}

// linkedDebug follows .gnu_debuglink.
func (f *File) linkedDebug() *File {
	name, crc, ok := f.debugLink()
	if !ok || !filepath.IsAbs(f.path) {
		return nil
	}
	dir := filepath.Dir(filepath.Clean(f.path))
	for _, path := range []string{
		filepath.Join(dir, name),
		filepath.Join(dir, ".debug", name),
		filepath.Join(debugRoot, dir, name),
	} {
		if path == filepath.Clean(f.path) {
			continue
		}
		if o := f.openDebug(path, func(o *File) bool { return f.vouches(o, crc) }); o != nil {
			return o
		}
	}
	return nil
}

// debugLink returns the file name and the checksum in .gnu_debuglink.
func (f *File) debugLink() (name string, crc uint32, ok bool) {
	s := f.section(".gnu_debuglink")
	if s == nil {
		return "", 0, false
	}
	return parseDebugLink(s.view(f.file).upTo(0, 4096))
}

// parseDebugLink reads a name, zeros up to a multiple of 4, and a checksum. A
// name that leads to another directory is refused.
func parseDebugLink(b []byte) (name string, crc uint32, ok bool) {
	n := bytes.IndexByte(b, 0)
	at := (n + 4) &^ 3
	if n <= 0 || at+4 > len(b) {
		return "", 0, false
	}
	name = string(b[:n])
	if strings.Contains(name, "/") || name == "." || name == ".." {
		return "", 0, false
	}
	return name, le.Uint32(b[at:]), true
}

// maxChecksum is the size of the largest file whose checksum is computed.
const maxChecksum = 4 << 30

// vouches reports whether o is the debug file that was split off f. It
// compares the build ids if both have one, and otherwise the checksum of the
// whole file.
func (f *File) vouches(o *File, crc uint32) bool {
	if a, b := f.BuildID(), o.BuildID(); a != "" && b != "" {
		return a == b
	}
	if o.file.size > maxChecksum {
		return false
	}
	h := crc32.NewIEEE()
	_, err := io.CopyBuffer(h, io.NewSectionReader(o.file.r, 0, int64(o.file.size)), make([]byte, scanChunk))
	return err == nil && h.Sum32() == crc
}

// openDebug opens the file at path. It returns the file if it is for the same
// machine and belongs reports true.
func (f *File) openDebug(path string, belongs func(o *File) bool) *File {
	file, err := f.src.OpenDebug(path)
	if err != nil || file == nil {
		return nil
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil
	}
	h := hold(file, info.Size())
	o, err := New(h, info.Size(), path, nil)
	if err == nil && o.hdr.machine == f.hdr.machine && belongs(o) {
		o.debug = true
		return o
	}
	h.f.Close()
	return nil
}

// closeDebug closes the separate debug file, if one was opened.
func (f *File) closeDebug() {
	if o := f.other.get(func() *File { return nil }); o != nil {
		o.file.r.(*Patient).f.Close()
	}
}

// miniDebug returns the small ELF file that is packed into .gnu_debugdata: a
// .symtab of the functions that .dynsym does not have.
func (f *File) miniDebug() *File {
	if f.debug {
		return nil
	}
	return f.mini.get(func() *File {
		s := f.section(".gnu_debugdata")
		if s == nil || s.compressed() {
			return nil
		}
		b, ok := unxz(s.view(f.file).load(maxMini).mem, maxMini)
		if !ok {
			return nil
		}
		o, err := New(bytes.NewReader(b), int64(len(b)), f.path, nil)
		if err != nil {
			return nil
		}
		o.debug = true
		return o
	})
}
