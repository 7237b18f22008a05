package perfevent

import (
	"strings"

	"ptools/internal/procfs"
)

// Mapped is the memory of a [Map] record: executable, and new in its process.
type Mapped struct {
	Addr, Len, Off uint64
	Major, Minor   uint32
	Inode          uint64 // 0: no file
	Path           string
	Unprobed       bool // the kernel plants no uprobes there: it is mapped MAP_SHARED, or can be written
}

// Map returns the mapping as /proc/PID/maps has it. A record does not tell shared memory from memory that can be written: either is shared.
// Memory without a file has no path, but for the vDSO: in records it has names.
func (r *Mapped) Map() procfs.Map {
	m := procfs.Map{
		Start: r.Addr, End: r.Addr + r.Len, Off: r.Off, Perm: procfs.Read | procfs.Exec,
		Major: r.Major, Minor: r.Minor, Inode: r.Inode, Path: r.Path,
	}
	if r.Unprobed {
		m.Perm |= procfs.Shared
	}
	switch {
	case m.Inode != 0:
		m.Path, m.Deleted = strings.CutSuffix(m.Path, procfs.DeletedSuffix)
	case m.Path != "[vdso]":
		m.Path = ""
	}
	return m
}
