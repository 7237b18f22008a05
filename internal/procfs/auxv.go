package procfs

import "encoding/binary"

// Types of auxiliary vector entries (getauxval(3)).
const (
	AuxPageSize = 6  // bytes
	AuxBase     = 7  // where the run-time linker is loaded; 0 without one
	AuxEntry    = 9  // entry point of the program
	AuxVDSO     = 33 // address of the vDSO's ELF header
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
func ReadAuxv(pid int) (Auxv, error) {
	b, err := readShared(pid, "auxv", nil)
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
