// Package mem reads and writes the memory of another process.
//
// Errors are bare syscall.Errno values, so that a failed read in a hot loop
// allocates nothing. They are EFAULT where nothing readable is mapped, ESRCH once
// the address space is gone, and EPERM or EACCES without the permission
// PTRACE_MODE_ATTACH. After Close the error is os.ErrClosed.
package mem

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
)

// ErrFiltered is the error of Open where the mode of /proc/PID/mem denies us the file, and a seccomp filter
// denies us process_vm_readv(2), even of our own memory. It satisfies fs.ErrPermission.
var ErrFiltered error = filtered{}

// ErrAbsent is the error of a Patient for pages that do not come.
var ErrAbsent = errors.New("its pages do not come")

type filtered struct{}

func (filtered) Error() string        { return "a seccomp filter refuses process_vm_readv(2)" }
func (filtered) Is(target error) bool { return target == fs.ErrPermission }

// ReadUint64 reads a little-endian 64-bit word.
func ReadUint64(r io.ReaderAt, addr uint64) (uint64, error) {
	var b [8]byte
	if n, err := r.ReadAt(b[:], int64(addr)); n < len(b) { // it may return io.EOF with all of them
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}
