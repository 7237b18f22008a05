package profile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// WriteFile makes the file at path hold what write writes. A regular file
// appears whole or not at all: the bytes go to a temporary file in the same
// directory and to the disk. At the end the temporary file gets the name,
// with the permissions of an earlier file of that name. A FIFO or a device is
// written directly. The error says what could not be done to which file.
func WriteFile(path string, write func(io.Writer) error) error {
	old, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return replaceFile(path, 0, write)
	case err != nil:
		return err
	case !old.Mode().IsRegular():
		return writeDirectly(path, write)
	}
	// If path is a symbolic link, the file behind it is replaced, not the link.
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	return replaceFile(path, old.Mode().Perm(), write)
}

// CheckFile returns an error if it is known beforehand that WriteFile cannot make the
// file, so that no sampling is done in vain. It leaves no trace.
func CheckFile(path string) error {
	old, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case old.IsDir():
		return &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case !old.Mode().IsRegular():
		return nil // opening a FIFO would wait for its reader
	default:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	f, err := createTemp(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// writeDirectly opens a FIFO, which waits for a reader, or a device.
func writeDirectly(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// replaceFile writes a temporary file and renames it to path. A perm of 0
// leaves the permissions to the umask.
func replaceFile(path string, perm fs.FileMode, write func(io.Writer) error) (err error) {
	f, err := createTemp(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close() // a second time does no harm
			os.Remove(f.Name())
			err = renamePath(err, path)
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if perm != 0 {
		if err := f.Chmod(perm); err != nil {
			return err
		}
	}
	// A file system may report a full disk as late as here.
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// createTemp differs from os.CreateTemp in the permissions: the umask decides.
func createTemp(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	for {
		name := fmt.Sprintf("%s.%s.%08x", dir, base, rand.Uint32())
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		return f, renamePath(err, path)
	}
}

// renamePath replaces the name of the temporary file in an error with the
// name that the user knows.
func renamePath(err error, path string) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = path
	}
	return err
}
