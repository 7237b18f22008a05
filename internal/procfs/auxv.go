package procfs

import (
	"encoding/binary"
	"errors"
	"syscall"
)

// Types of auxiliary vector entries (getauxval(3)).
const (
	AuxBase   = 7  // where the run-time linker is loaded; 0 without one
	AuxEntry  = 9  // entry point of the program
	AuxExecFn = 31 // address of the path that execve(2) was given
	AuxVDSO   = 33 // address of the vDSO's ELF header
)

// An Auxv maps the types of a process's auxiliary vector to their values.
type Auxv map[uint64]uint64

// ParseAuxv parses an auxiliary vector of words of width bytes (8, or 4 for
// a 32-bit program under a 64-bit kernel), little-endian, up to its null
// entry.
func ParseAuxv(b []byte, width int) (Auxv, error) {
	word := func(b []byte) uint64 {
		if width == 4 {
			return uint64(binary.LittleEndian.Uint32(b))
		}
		return binary.LittleEndian.Uint64(b)
	}
	a := make(Auxv)
	for rest := b; len(rest) >= 2*width; rest = rest[2*width:] {
		k, v := word(rest), word(rest[width:])
		if k == 0 {
			return a, nil
		}
		if k >= 1<<16 { // no such type: the width is wrong or this is no vector
			break
		}
		if _, dup := a[k]; !dup {
			a[k] = v
		}
	}
	return nil, malformed("auxiliary vector", b)
}

// ReadAuxv reads /proc/PID/auxv, of a 64-bit or of a 32-bit program. It is
// the vector of the last exec; a process whose memory is gone (a zombie, a
// kernel thread) has an empty one, which is syscall.ESRCH here.
//
// The file's mode may deny us the file, as with CAP_SYS_PTRACE alone. Then ReadAuxv reads the copy that
// the kernel has left on the stack of a 64-bit program. The program may have overwritten that copy.
func ReadAuxv(pid int) (Auxv, error) {
	b, err := readShared(pid, "auxv", nil)
	if errors.Is(err, syscall.EACCES) {
		return stackAuxv(pid, err)
	}
	if err != nil {
		return nil, err
	}
	if len(b) == 0 {
		p := processPath(pid, "auxv")
		return nil, p.gone()
	}
	if a, err := ParseAuxv(b, 8); err == nil {
		return a, nil
	}
	return ParseAuxv(b, 4)
}

// mostStart bounds how much is read of a new program's stack: the pointers to its arguments and its
// environment, and the vector.
const mostStart = 4 << 20

// stackAuxv finds the vector where execve(2) puts it (System V ABI, initial process stack). In front of
// it are the number of arguments, a pointer to each, a null, a pointer to each variable of the
// environment, and a null. stackAuxv returns the error denied if the stack may not be read either.
func stackAuxv(pid int, denied error) (Auxv, error) {
	st, err := ReadStat(pid)
	if err != nil {
		return nil, err
	}
	if st.StartStack == 0 || st.ArgStart <= st.StartStack {
		return nil, denied // hidden from us
	}
	b := make([]byte, min(st.ArgStart-st.StartStack, mostStart))
	n := readMemory(pid, b, st.StartStack)
	if n < 8 {
		return nil, denied
	}
	return initialAuxv(b[:n])
}

// initialAuxv returns the vector on a stack as execve(2) leaves it.
func initialAuxv(stack []byte) (Auxv, error) {
	word := func(i uint64) (uint64, bool) {
		if i >= uint64(len(stack))/8 {
			return 0, false
		}
		return binary.LittleEndian.Uint64(stack[8*i:]), true
	}
	args, _ := word(0)
	if args < uint64(len(stack)) {
		for i := args + 2; ; i++ {
			switch v, ok := word(i); {
			case !ok:
				return nil, malformed("initial stack", stack)
			case v == 0:
				return ParseAuxv(stack[8*(i+1):], 8)
			}
		}
	}
	return nil, malformed("initial stack", stack)
}
