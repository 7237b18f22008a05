package perfevent

import (
	"fmt"

	"golang.org/x/sys/unix"

	"ptools/internal/need"
)

// A Counter counts in the kernel how often the threads of a process reach an
// instruction, new threads included. It stops no thread. The count is read from
// shared memory. Count may be called from any goroutine, but not after Close.
type Counter struct {
	probe int // descriptor; negative: one of Counters
	mem   []byte
}

// OpenCounter counts hits of process pid at addr, which is offset off of the
// file at path. tid is a thread of it that lives; see [EndWithThread]. If addr is 0 hits are counted wherever the file is mapped, also later. Hits of a forked child are not counted. Errors are those of
// [Signals.Probe] and [NewSignals].
func OpenCounter(pid, tid int, path string, off, addr uint64) (*Counter, error) {
	c, err := openCounter(pid, tid, path, off, addr)
	if err != nil {
		return nil, need.Uprobes.Explain(fmt.Errorf("uprobe at %s+%#x: %w", path, off, err))
	}
	return c, nil
}

func openCounter(pid, tid int, path string, off, addr uint64) (*Counter, error) {
	counts, mem, err := newWords(fewWords)
	if err != nil {
		return nil, err
	}
	defer unix.Close(counts) // the program and the mapping keep it
	program, err := newProbeProgram(pid, func(getCookie []instruction) []instruction {
		return finish(append(atCookie(getCookie), count(counts, 0)...))
	})
	if err == nil {
		defer program.close() // the probe keeps it
		program.tid = tid
		var fd int
		if fd, err = program.attach(path, off, addr); err == nil {
			return &Counter{fd, mem}, nil
		}
	}
	unix.Munmap(mem)
	return nil, err
}

// Close lifts the probe. It blocks for a grace period; see [Closer].
func (c *Counter) Close() error {
	if c.probe < 0 {
		return nil
	}
	err := closeProbe(c.probe)
	unix.Munmap(c.mem)
	return err
}
