package profile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// WriteFile makes the file at path hold what write writes. A regular file
// appears whole or not at all: the bytes go to a temporary file in the same
// directory and to the disk. At the end the temporary file gets the name,
// with the permissions of an earlier file of that name, less the umask. A FIFO or a device is
// written directly. The error says what could not be done to which file.
//
// The directory is opened once. So nobody who may write to it can make WriteFile write to another file: see locate.
func WriteFile(path string, write func(io.Writer) error) error {
	p, err := locate(path)
	if err != nil {
		return err
	}
	defer p.close()
	if p.direct() {
		return p.writeDirectly(write)
	}
	return p.replace(write)
}

// CheckFile returns an error if it is known beforehand that WriteFile cannot make the
// file, so that no sampling is done in vain. It leaves no trace.
func CheckFile(path string) error {
	p, err := locate(path)
	if err != nil {
		return err
	}
	defer p.close()
	switch {
	case p.old != nil && p.old.IsDir():
		return &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case p.direct():
		return nil // opening a FIFO would wait for its reader
	}
	f, name, err := p.createTemp()
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), p.dir.Remove(name))
}

// place is where a file is to be: a name in an open directory.
type place struct {
	path string // as the user knows it
	dir  *os.Root
	name string
	old  fs.FileInfo // what has the name: no symbolic link; nil: nothing
	own  string      // instead of all that: the path of a descriptor of ours
}

var errForeignLink = errors.New("symbolic link of another user, in a directory that others may write to")

// locate finds the place of a file. It follows symbolic links at the end of the path, under the rule of
// fs.protected_symlinks (proc_sys_fs(5)) whatever that is set to, and in each directory that others may write to: such a
// link has to be ours, or that of the directory's owner.
func locate(path string) (*place, error) {
	const mostLinks = 40
	at := path
	for range mostLinks {
		if strings.HasPrefix(at, "/proc/") || strings.HasPrefix(at, "/dev/fd/") {
			return &place{path: path, own: at}, nil
		}
		dirname, name := filepath.Split(at)
		if dirname == "" {
			dirname = "."
		}
		dir, err := os.OpenRoot(dirname)
		if err != nil {
			return nil, errorAt("open", path, err)
		}
		p := &place{path: path, dir: dir, name: name}
		if name == "" {
			p.name = "."
		}
		target, err := p.look()
		if err == nil && target == "" {
			return p, nil
		}
		p.close()
		if err != nil {
			return nil, errorAt("open", path, err)
		}
		if at = target; !filepath.IsAbs(target) {
			at = dirname + "/" + target // not cleaned: .. is the kernel's to resolve
		}
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
}

// look finds out what has the name. For a symbolic link that may be followed it returns the text of the link.
func (p *place) look() (target string, err error) {
	info, err := p.dir.Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink == 0:
		p.old = info
		return "", nil
	}
	dir, err := p.dir.Stat(".")
	if err != nil {
		return "", err
	}
	if owner := ownerOf(info); dir.Mode().Perm()&0o022 != 0 && owner != os.Geteuid() && owner != ownerOf(dir) {
		return "", errForeignLink
	}
	return p.dir.Readlink(p.name)
}

func ownerOf(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

func (p *place) close() {
	if p.dir != nil {
		p.dir.Close()
	}
}

// direct reports whether bytes are written to what is there.
func (p *place) direct() bool {
	return p.own != "" || p.old != nil && !p.old.Mode().IsRegular()
}

// writeDirectly opens a FIFO, which waits for a reader, a device, or what a descriptor of ours refers to.
func (p *place) writeDirectly(write func(io.Writer) error) error {
	f, err := p.openDirectly()
	if err != nil {
		return errorAt("open", p.path, err)
	}
	return errors.Join(write(f), f.Close())
}

func (p *place) openDirectly() (*os.File, error) {
	if p.own != "" {
		return os.OpenFile(p.own, os.O_WRONLY|os.O_APPEND, 0)
	}
	f, err := p.dir.OpenFile(p.name, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(now, p.old) {
		f.Close()
		return nil, errors.Join(err, errors.New("file was replaced meanwhile"))
	}
	return f, nil
}

// replace writes a temporary file and renames it.
func (p *place) replace(write func(io.Writer) error) (err error) {
	f, name, err := p.createTemp()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close() // a second time does no harm
			p.dir.Remove(name)
		}
	}()
	if err := write(f); err != nil {
		return errorAt("write", p.path, err)
	}
	// A file system may report a full disk as late as here.
	if err := f.Sync(); err != nil {
		return errorAt("sync", p.path, err)
	}
	if err := f.Close(); err != nil {
		return errorAt("close", p.path, err)
	}
	return errorAt("rename", p.path, p.dir.Rename(name, p.name))
}

// createTemp makes a new file beside the place. The umask decides about the permissions, unlike in os.CreateTemp.
func (p *place) createTemp() (*os.File, string, error) {
	perm := fs.FileMode(0o666)
	if p.old != nil {
		perm = p.old.Mode().Perm()
	}
	for {
		name := fmt.Sprintf(".%s.%08x", p.name, rand.Uint32())
		f, err := p.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		return f, name, errorAt("open", p.path, err)
	}
}

// errorAt returns an error about a file of a directory with the path that the user knows.
func errorAt(op, path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: op, Path: path, Err: e.Err}
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: op, Path: path, Err: e.Err}
	}
	if errors.Is(err, errForeignLink) {
		return &fs.PathError{Op: op, Path: path, Err: err}
	}
	return err
}
