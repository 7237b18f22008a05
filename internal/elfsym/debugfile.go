package elfsym

import (
	"bytes"
	"cmp"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ptools/internal/patience"
)

// debugRoot is where distributions put separate debug files.
const debugRoot = "/usr/lib/debug"

// separate returns the file's separate debug file, nil if there is none: by
// build id, then by .gnu_debuglink, in the order in which gdb looks (gdb
// manual, Separate Debug Files), then among those that were fetched.
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
		if o := f.linkedDebug(); o != nil {
			return o
		}
		return fetchedDebug(f, f.BuildID())
	})
}

// A fetchedSource is a Source that also has debug files that were fetched by their build ids.
type fetchedSource interface {
	OpenID(id string) (*os.File, error)
}

// fetchedDebug returns the debug file with a build id that was fetched, nil if there is none.
func fetchedDebug(f *File, id string) *File {
	src, ok := f.src.(fetchedSource)
	if !ok || id == "" {
		return nil
	}
	file, err := src.OpenID(id)
	if err != nil {
		return nil
	}
	o, err := takeOther(f, file, file.Name(), func(o *File) bool { return o.BuildID() == id })
	if err != nil {
		return nil
	}
	return o
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
func (f *image) debugLink() (name string, crc uint32, ok bool) {
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

// checksumShare is how many bytes of it are one byte of work. A debug file is much larger than its program, but not at will.
const checksumShare = 4

// vouches reports whether o is the debug file that was split off f. It
// compares the build ids if both have one, and otherwise the checksum of the
// whole file.
func (f *File) vouches(o *File, crc uint32) bool {
	if a, b := f.BuildID(), o.BuildID(); a != "" && b != "" {
		return a == b
	}
	if o.file.size > maxChecksum || !f.budget.affords(o.file.size/checksumShare) || !f.budget.spend(o.file.size/checksumShare) {
		return false
	}
	h := crc32.NewIEEE()
	_, err := io.CopyBuffer(h, io.NewSectionReader(o.file.r, 0, int64(o.file.size)), make([]byte, scanChunk))
	return err == nil && h.Sum32() == crc
}

// openDebug opens the file at path. It returns the file if it is for the same
// machine and belongs reports true.
func (f *File) openDebug(path string, belongs func(o *File) bool) *File {
	o, err := f.openOther(path, belongs)
	if err != nil {
		return nil
	}
	return o
}

// errForeign is the error of a file that is there, but belongs to another program or build.
var errForeign = errors.New("file of another program or build")

// openOther is openDebug with the error. The error is a *fs.PathError.
func (f *File) openOther(path string, belongs func(o *File) bool) (*File, error) {
	file, err := f.src.OpenDebug(path)
	if err == nil && file == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		if inner, ok := errors.AsType[*fs.PathError](err); ok {
			err = inner.Err
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return takeOther(f, file, path, belongs)
}

// takeOther makes a File of an open file, which it closes if that is not possible.
func takeOther(f *File, file *os.File, path string, belongs func(o *File) bool) (*File, error) {
	info, err := patience.Do(file.Stat, func(fs.FileInfo) {})
	if err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: cmp.Or(err, ErrFormat)}
	}
	h := hold(file, info.Size())
	o, err := newFile(h, info.Size(), path, nil, 0, f.budget)
	if err == nil && o.hdr.machine == f.hdr.machine && belongs(o) {
		f.budget.grow(o.file.size)
		o.debug = true
		return o, nil
	}
	if err == nil {
		err = errForeign
	}
	if h.Hung() {
		err = patience.ErrHung
	}
	h.Close()
	return nil, &fs.PathError{Op: "open", Path: path, Err: err}
}

// closeOther closes a file that openOther has opened.
func closeOther(f *File) { f.file.r.(*Patient).Close() }

// closeDebug closes the files with debug information that were opened.
func (f *File) closeDebug() {
	if o := f.other.get(func() *File { return nil }); o != nil {
		closeOther(o)
	}
	if d := f.lines.get(func() *dwarfFile { return nil }); d != nil {
		d.close()
	}
}

// miniDebug returns the small ELF file that is packed into .gnu_debugdata: a
// .symtab of the functions that .dynsym does not have.
func (f *File) miniDebug() *File {
	if f.debug {
		return nil
	}
	return f.contents().mini.get(func() *File {
		s := f.section(".gnu_debugdata")
		if s == nil || s.compressed() {
			return nil
		}
		packed := s.view(f.file).loan(maxMini)
		defer packed.repay()
		limit := min(maxMini, leastMini+miniTimes*len(packed.mem))
		if !f.borrow(2 * limit) { // what becomes of it, and its dictionary
			return nil
		}
		b, ok := unxz(packed.mem, int64(limit))
		f.repay(2 * uint64(limit))
		if !ok || !f.budget.spend(inflateCost*uint64(len(b))) || !f.budget.keep(uint64(len(b))) {
			return nil
		}
		o, err := newFile(bytes.NewReader(b), int64(len(b)), f.path, nil, 0, f.budget)
		if err != nil {
			return nil
		}
		o.debug = true
		return o
	})
}
