package patience

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Open opens a file of another process for reading. It waits neither for a pipe without a writer nor for a file system that
// does not answer.
func Open(path string) (*os.File, error) {
	return Do(func() (*os.File, error) {
		return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}, func(f *os.File) { f.Close() })
}

// ReadFile reads a small file that an administrator has named. It waits neither for a pipe without a writer nor for a file
// system that does not answer. Other files than regular ones, and files of more than most bytes, are an error that names
// the file.
func ReadFile(path string, most int64) ([]byte, error) {
	return Do(func() ([]byte, error) {
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // otherwise a pipe without a writer blocks the open
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return nil, cmp.Or(err, fmt.Errorf("%s is not a regular file", path))
		}
		text, err := io.ReadAll(io.LimitReader(f, most+1))
		if err == nil && int64(len(text)) > most {
			err = fmt.Errorf("%s: larger than %d bytes", path, most)
		}
		return text, err
	}, func([]byte) {})
}
