package ptrace

import (
	"encoding/binary"
	"fmt"
	"io"
)

// x32Bit marks the numbers of the x32 calls.
const x32Bit = 0x40000000

// CloneFlags returns the clone(2) flags of the system call that has made a thread or a process. r are the
// registers of the creator in its event, or of the child at its first stop: a child begins with a copy of the
// creator's registers. mem is the memory of that thread, where the flags of clone3(2) are.
func (r *Regs) CloneFlags(mem io.ReaderAt) (flags uint64, err error) {
	switch r.OrigRax &^ x32Bit {
	case 56: // clone
		return r.Rdi, nil
	case 57, 2: // fork, and that of 32-bit code
		return 0, nil
	case 58, 190: // vfork
		return CloneVM | cloneVfork, nil
	case 120: // clone of 32-bit code
		return uint64(uint32(r.Rbx)), nil
	case 435:
		return r.clone3Flags(mem)
	}
	return 0, errNoClone
}

// Forks reports whether a system call of 64-bit code is fork(2), or clone(2) used as fork: it makes a process with a copy
// of the memory. The flags of clone3(2) are not read, because no C library forks by it.
func Forks(nr int64, args [6]uint64) bool {
	switch nr &^ x32Bit {
	case 56:
		return args[0]&CloneVM == 0
	case 57:
		return true
	}
	return false
}

// clone3Flags reads the flags of clone3(2), which has the same number in 64-bit and in 32-bit code.
func (r *Regs) clone3Flags(mem io.ReaderAt) (uint64, error) {
	var code [SyscallLength]byte
	if _, err := mem.ReadAt(code[:], int64(r.Rip-SyscallLength)); err != nil {
		return 0, fmt.Errorf("arguments of clone3: %w", err)
	}
	addr := r.Rdi
	if code == [SyscallLength]byte{0xcd, 0x80} {
		addr = uint64(uint32(r.Rbx))
	}
	var flags [8]byte
	if _, err := mem.ReadAt(flags[:], int64(addr)); err != nil {
		return 0, fmt.Errorf("arguments of clone3: %w", err)
	}
	return binary.LittleEndian.Uint64(flags[:]), nil
}
