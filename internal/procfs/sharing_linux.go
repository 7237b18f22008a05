package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// SharesMemory reports whether two processes run in the same address space,
// as a vfork child and its parent do (kcmp(2), KCMP_VM). It needs the
// permission PTRACE_MODE_READ on both. A leader that has ended has no memory,
// whatever its threads have.
func SharesMemory(pid1, pid2 int) (bool, error) {
	const kcmpVM = 1
	r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid1), uintptr(pid2), kcmpVM, 0, 0, 0)
	if errno != 0 {
		return false, errno
	}
	return r == 0, nil
}

// ErrUnknown is the error of CompareMemory where it cannot find out.
var ErrUnknown = errors.New("nothing tells whether two processes use the same memory")

// CompareMemory is SharesMemory for processes that kcmp(2) may not be used on,
// because a filter of system calls denies it or one of them belongs to another
// user. It compares the high-water marks of the address spaces, which differ
// between most processes. If they are the same, it changes the core dump filter
// of pid1 for a moment: the filter belongs to the memory, so a process that shares
// the memory shows the change. The changed bit is about files of DAX devices that
// are mapped shared. ESRCH: one of the processes has no memory any more.
func CompareMemory(pid1, pid2 int) (bool, error) {
	shares, errno := SharesMemory(pid1, pid2)
	if errno == nil || errno == syscall.ESRCH {
		return shares, errno
	}
	before, err := memoryPeak(pid1)
	if err != nil {
		return false, err
	}
	peak, err := memoryPeak(pid2)
	if errors.Is(err, fs.ErrPermission) {
		// It is hidden (hidepid in proc(5)): we may not trace it. A process that changes its ids
		// makes its memory inaccessible for all that share it (commit_creds in kernel/cred.c).
		return false, nil
	}
	if err != nil {
		return false, err
	}
	after, err := memoryPeak(pid1)
	if err != nil {
		return false, err
	}
	if peak < before || after < peak {
		return false, nil
	}
	shares, err = compareFilters(pid1, pid2)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		err = fmt.Errorf("%w: kcmp: %w; %w", ErrUnknown, errno, err)
	}
	return shares, err
}

// memoryPeak returns the greatest size that the address space has had, in KiB.
func memoryPeak(pid int) (uint64, error) {
	p := processPath(pid, "status")
	var buf [2048]byte
	b, err := p.read(buf[:0])
	if err != nil {
		return 0, err
	}
	_, line, ok := bytes.Cut(b, []byte("\nVmPeak:"))
	if !ok {
		return 0, p.gone()
	}
	s := scanner{text: line}
	return s.uint(10), nil
}

// filterBit is MMF_DUMP_DAX_SHARED (core(5)).
const filterBit = 1 << 8

// compareFilters changes the core dump filter of one process, looks at the filter
// of the other, and changes the first one back.
func compareFilters(pid1, pid2 int) (bool, error) {
	p := processPath(pid1, "coredump_filter")
	fd, errno := p.open(unix.O_RDWR)
	if errno != 0 {
		return false, p.fail("open", errno)
	}
	defer unix.Close(fd)
	was, err := readFilter(pid1)
	if err != nil {
		return false, err
	}
	if other, err := readFilter(pid2); err != nil || other != was {
		return false, err
	}
	if err := writeFilter(fd, was^filterBit); err != nil {
		return false, p.fail("write", err.(syscall.Errno))
	}
	other, err := readFilter(pid2)
	if err := writeFilter(fd, was); err != nil {
		return false, p.fail("write", err.(syscall.Errno))
	}
	return other != was, err
}

func readFilter(pid int) (uint64, error) {
	p := processPath(pid, "coredump_filter")
	var buf [32]byte
	b, err := p.read(buf[:0])
	if err != nil {
		return 0, err
	}
	v, ok := parseUint(bytes.TrimSpace(b), 16)
	if !ok {
		return 0, p.gone() // it has no memory: the file is empty
	}
	return v, nil
}

func writeFilter(fd int, v uint64) error {
	for {
		_, err := unix.Pwrite(fd, fmt.Appendf(nil, "%#x\n", v), 0)
		if err != unix.EINTR {
			return err
		}
	}
}
