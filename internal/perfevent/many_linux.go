package perfevent

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptools/internal/need"
)

// Links reports whether the kernel takes probes at many places of a file as one link, with one descriptor (Linux 6.6).
func Links() bool {
	how, _ := mechanismOf()
	return how == probeLinks
}

// ProbeAll is Probe for several offsets of a file, wherever it is mapped. They are one link. It takes [Links]. The kernel
// refuses all for one that it cannot probe; see [OfInstruction].
func (s *Signals) ProbeAll(path string, offs []uint64) (*Link, error) {
	word, err := s.words.take()
	if err != nil {
		return nil, fmt.Errorf("uprobes in %s: %w", path, err)
	}
	l := &Link{s: s, fd: -1, word: word}
	cookies := make([]uint64, len(offs))
	for i := range cookies {
		cookies[i] = cookie(0, word)
	}
	if l.fd, err = s.program.attachAll(path, offs, cookies); err != nil {
		s.words.put(word)
		return nil, fmt.Errorf("uprobes in %s: %w", path, err)
	}
	l.Switch(true)
	return l, nil
}

// attachAll makes probes at offsets of a file, as one link.
func (p *probeProgram) attachAll(path string, offs, cookies []uint64) (int, error) {
	if p.fd < 0 {
		return -1, ErrNoUprobes
	}
	return linkProbes(p.fd, path, offs, cookies, p.pid)
}

// Counters count in the kernel how often the threads of a process reach instructions, each by itself. They are one link.
type Counters struct {
	probe int // descriptor
	mem   []byte
}

// mostCounters bounds Counters.
const mostCounters = 1 << 16

// OpenCounters counts hits of process pid at offsets of the file at path, wherever that is mapped. It takes [Links]. Errors are those of
// [Signals.ProbeAll] and [NewSignals].
func OpenCounters(pid int, path string, offs []uint64) (*Counters, error) {
	n := uintptr(fewWords)
	for n < uintptr(len(offs)) && n < mostCounters {
		n *= 2
	}
	if n < uintptr(len(offs)) {
		return nil, unix.E2BIG
	}
	words, mem, err := newWords(n)
	if err != nil {
		return nil, need.Uprobes.Explain(err)
	}
	defer unix.Close(words) // the program and the mapping keep it
	program, err := newProbeProgram(pid, func(getCookie []instruction) []instruction {
		return finish(append(getCookie[:len(getCookie):len(getCookie)], countNumbered(words, n)...))
	})
	if err == nil {
		defer program.close() // the link keeps it
		cookies := make([]uint64, len(offs))
		for i := range cookies {
			cookies[i] = uint64(i)
		}
		var fd int
		if fd, err = program.attachAll(path, offs, cookies); err == nil {
			return &Counters{fd, mem}, nil
		}
	}
	unix.Munmap(mem)
	return nil, need.Uprobes.Explain(fmt.Errorf("uprobes in %s: %w", path, err))
}

// countNumbered adds one to the word of a map of newWords whose number is in register 0. There are n, a power of two.
func countNumbered(words int, n uintptr) []instruction {
	return []instruction{
		{op: bpfAndImm, dst: 0, imm: int32(n - 1)}, // so that the kernel can see it
		{op: bpfLeftImm, dst: 0, imm: 3},
		{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(words)}, {},
		{op: bpfAddReg, dst: 1, src: 0},
		{op: bpfMovImm, dst: 2, imm: 1},
		{op: bpfAtomic, dst: 1, src: 2},
	}
}

// At returns the count at one of the offsets. Close does nothing to it; it must not be asked for its Count when c has been closed.
func (c *Counters) At(i int) *Counter { return &Counter{probe: -1, mem: c.mem[8*i:][:8]} }

// Close lifts all probes. It blocks for a grace period; see [Closer].
func (c *Counters) Close() error {
	err := closeProbe(c.probe)
	unix.Munmap(c.mem)
	return err
}

// Count returns the hits since OpenCounter.
func (c *Counter) Count() uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&c.mem[0])))
}

// OfInstruction reports whether an error of the kernel may be about one of several instructions.
func OfInstruction(err error) bool {
	for _, e := range []error{unix.EINVAL, unix.EOPNOTSUPP, unix.Errno(notSupported), unix.ENOEXEC, unix.EIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
