package procfs

import (
	"bytes"
	"errors"
)

// A process may have threads that never run code of its own: the kernel has made them, to work for the process there. Those of
// io_uring make its requests. A stop of such a thread ends what it waits for with an error, and nothing makes the call again.

// flagsWorker mark such a thread: PF_IO_WORKER (Linux 5.12), PF_USER_WORKER (6.4). They have had other meanings before.
const flagsWorker = 0x10 | 0x4000

// workerBlocks is what signals such a thread blocks: all but SIGKILL and SIGSTOP.
const workerBlocks = ^uint64(1<<8 | 1<<18)

var errRings = errors.New("it has rings")

// HasRings reports whether a process may have workers of io_uring: it has mapped the rings of one. A process that gives the kernel memory of its
// own for them (IORING_SETUP_NO_MMAP) is not recognized. If its map cannot be read, HasRings reports true.
func HasRings(pid int) bool {
	return ReadMaps(pid, func(text []byte) error {
		if bytes.Contains(text, []byte("anon_inode:[io_uring]")) {
			return errRings
		}
		return nil
	}) != nil
}

// IsWorker reports whether a thread is one of those that the kernel has made to work for the process.
func IsWorker(pid, tid int) bool {
	stat, err := ReadTaskStat(pid, tid)
	if err != nil || stat.Flags&flagsWorker == 0 {
		return false
	}
	status, err := ReadTaskStatus(pid, tid)
	return err == nil && status.SigBlk == workerBlocks
}
