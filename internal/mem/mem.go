// Package mem reads and writes the memory of another process.
//
// Errors are bare syscall.Errno values, so that a failed read in a hot loop
// allocates nothing: EFAULT where nothing readable is mapped, ESRCH once the
// address space is gone, EPERM or EACCES without the permission
// PTRACE_MODE_ATTACH; os.ErrClosed after Close.
package mem

import (
	"bytes"
	"encoding/binary"
	"io"
	"io/fs"
)

// ErrFiltered is the error of Open where the mode of /proc/PID/mem keeps us from it and a seccomp filter
// from process_vm_readv(2), of our own memory too. Satisfies fs.ErrPermission.
var ErrFiltered error = filtered{}

type filtered struct{}

func (filtered) Error() string        { return "a seccomp filter refuses process_vm_readv(2)" }
func (filtered) Is(target error) bool { return target == fs.ErrPermission }

// ReadUint64 reads a little-endian 64-bit word.
func ReadUint64(r io.ReaderAt, addr uint64) (uint64, error) {
	var b [8]byte
	if _, err := readFull(r, b[:], addr); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// readFull is r.ReadAt, which may return io.EOF with a whole buffer.
func readFull(r io.ReaderAt, p []byte, addr uint64) (int, error) {
	n, err := r.ReadAt(p, int64(addr))
	if n == len(p) {
		err = nil
	}
	return n, err
}

// ReadString reads a NUL-terminated string of at most max bytes; a longer
// one is cut there without an error. It reads no byte of a page behind the
// one that holds the NUL.
func ReadString(r io.ReaderAt, addr uint64, max int) (string, error) {
	const page = 4096
	var s []byte
	var chunk [256]byte
	for len(s) < max {
		n := min(len(chunk), max-len(s), page-int(addr%page))
		n, err := readFull(r, chunk[:n], addr)
		if i := bytes.IndexByte(chunk[:n], 0); i >= 0 {
			return string(append(s, chunk[:i]...)), nil
		}
		s = append(s, chunk[:n]...)
		if err != nil {
			return string(s), err
		}
		if n == 0 {
			return string(s), io.ErrNoProgress
		}
		addr += uint64(n)
	}
	return string(s), nil
}
