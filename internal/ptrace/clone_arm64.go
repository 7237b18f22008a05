package ptrace

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Numbers of the system calls that make threads and processes.
const (
	callClone  = 220
	callClone3 = 435
)

// CloneFlags returns the clone(2) flags of the system call that has made a thread or a process. r are the
// registers of the creator in its event: a child begins with x0 = 0, and the flags are lost there. mem is the memory of that
// thread, where the flags of clone3(2) are.
func (r *Regs) CloneFlags(mem io.ReaderAt) (flags uint64, err error) {
	switch r.SyscallNr {
	case callClone:
		return r.X[0], nil
	case callClone3:
		var flags [8]byte
		if _, err := mem.ReadAt(flags[:], int64(r.X[0])); err != nil {
			return 0, fmt.Errorf("arguments of clone3: %w", err)
		}
		return binary.LittleEndian.Uint64(flags[:]), nil
	}
	return 0, errNoClone
}

// Forks reports whether a system call of 64-bit code is clone(2) used as fork: it makes a process with a copy
// of the memory. The flags of clone3(2) are not read, because no C library forks by it.
func Forks(nr int64, args [6]uint64) bool { return nr == callClone && args[0]&CloneVM == 0 }
