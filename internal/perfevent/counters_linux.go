package perfevent

import (
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Counters count in the kernel how often the threads of a process reach a number
// of instructions of one file: those threads that there are and those that come.
// Nobody is stopped. The probes are one descriptor (a BPF link of the
// uprobe_multi kind, Linux 6.6), opened and closed in one go, and the counts are
// read from shared memory. Count may be called from any goroutine, not after
// Close.
type Counters struct {
	link int
	mem  []byte
	n    int
}

// OpenCounters starts to count. The path is resolved as by [Open]; a fork child
// is not counted, exec ends the counting.
//
// Errors: EPERM without CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN), EINVAL from a
// kernel without such links or for an offset that is no instruction, ESRCH when
// there is no such process.
func OpenCounters(path string, offs []uint64, pid int) (*Counters, error) {
	if len(offs) == 0 {
		return nil, unix.EINVAL
	}
	c, err := openCounters(path, offs, pid)
	if err != nil {
		return nil, fmt.Errorf("uprobes in %s: %w", path, err)
	}
	return c, nil
}

func openCounters(path string, offs []uint64, pid int) (*Counters, error) {
	array, err := newArray(len(offs))
	if err != nil {
		return nil, err
	}
	defer unix.Close(array) // the program and the mapping keep it
	program, err := loadProgram(countProgram(array))
	if err != nil {
		return nil, err
	}
	defer unix.Close(program) // the link keeps it
	page := os.Getpagesize()
	size := (8*len(offs) + page - 1) &^ (page - 1)
	mem, err := unix.Mmap(array, 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	link, err := linkProbes(program, path, slices.Clone(offs), pid)
	if err != nil {
		unix.Munmap(mem)
		return nil, err
	}
	return &Counters{link: link, mem: mem, n: len(offs)}, nil
}

// Count returns the hits of the i-th offset since OpenCounters.
func (c *Counters) Count(i int) uint64 {
	if i < 0 || i >= c.n {
		return 0
	}
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&c.mem[8*i])))
}

// Close lifts all probes. It blocks for a grace period; see [Closer].
func (c *Counters) Close() error {
	err := unix.Close(c.link)
	unix.Munmap(c.mem)
	if err != nil {
		return fmt.Errorf("close of uprobes: %w", err)
	}
	return nil
}
