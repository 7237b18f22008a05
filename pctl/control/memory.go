package control

import (
	"encoding/binary"
	"errors"
	"io"
	"syscall"

	"ptools/internal/guard"
	"ptools/internal/mem"
	"ptools/internal/ptrace"
)

// targetMemory is the target's memory.
type targetMemory struct {
	g     *tracees
	mem   memory
	user  words // the same as the target itself may use it
	watch *guard.Watch
}

// openMemory binds to the address space that the target has now. The descriptor
// comes first: what is read about the address space afterwards can then be no older
// than the memory that is written to. Without a descriptor it is written by ptrace(2).
func (m *targetMemory) openMemory() error {
	opened, err := mem.Open(m.g.pid)
	if err != nil {
		return err
	}
	m.closeMemory()
	m.mem, m.user = opened, opened.User()
	if !opened.Writable() {
		m.mem = pokedMemory{opened, m.g.standing}
	}
	m.watch.Bind(opened)
	return nil
}

func (m *targetMemory) closeMemory() { m.noMemory(syscall.ESRCH) }

// noMemory does without the target's memory; err is what its users get.
func (m *targetMemory) noMemory(err error) {
	m.watch.Bind(nil)
	m.mem.Close()
	m.mem, m.user = noMemory{err}, noMemory{err}
}

// memory is what the control goroutine needs of the target's address space.
type memory interface {
	words
	io.Closer
	Stale() bool // nothing is in it any more
}

// words is memory to be read and written.
type words interface {
	io.ReaderAt
	io.WriterAt
}

// noMemory stands for memory that cannot be had: of a process that has no program yet,
// or is gone, or has executed what we may not read.
type noMemory struct{ err error }

func (m noMemory) ReadAt([]byte, int64) (int, error) { return 0, m.err }

func (m noMemory) WriteAt([]byte, int64) (int, error) { return 0, m.err }

func (m noMemory) Close() error { return nil }

func (m noMemory) Stale() bool { return true }

// pokedMemory is the memory of such a target. Reading needs no stop.
type pokedMemory struct {
	*mem.Memory
	standing func() *thread
}

// errUnreached is the error of writing where every thread sleeps uninterruptibly.
var errUnreached = errors.New("no thread of the process can be stopped, through which its memory could be written")

// ReadAt reads through a thread that stands where the target has ended, and another process that shared
// its memory has not.
func (m pokedMemory) ReadAt(p []byte, addr int64) (int, error) {
	n, err := m.Memory.ReadAt(p, addr)
	if err != syscall.ESRCH {
		return n, err
	}
	t := m.standing()
	if t == nil {
		return n, err
	}
	return ptrace.Memory{TID: t.tid}.ReadAt(p, addr)
}

// WriteAt writes through a thread that stands.
func (m pokedMemory) WriteAt(p []byte, addr int64) (int, error) {
	t := m.standing()
	if t == nil {
		return 0, errUnreached
	}
	n, err := ptrace.Memory{TID: t.tid}.WriteAt(p, addr)
	if err == syscall.EIO {
		err = syscall.EFAULT
	}
	return n, err
}

// pokes reports whether the target's memory can be written only through a thread that stands.
func (m *targetMemory) pokes() bool {
	_, ok := m.mem.(pokedMemory)
	return ok
}

// word reads an address out of the target.
func (m *targetMemory) word(addr uint64) (uint64, error) {
	var b [8]byte
	_, err := m.mem.ReadAt(b[:], int64(addr))
	return binary.LittleEndian.Uint64(b[:]), err
}

// shown returns the registers that a look sees of a stopped thread: its own, except
// that one which has come no further than to the first instruction of a signal's
// handler is shown where the signal has met it. It has stood in the stop of that
// signal until we answered, for longer than anything there takes without a tracer;
// whoever counts looks would take that for time in the handler.
func (m *targetMemory) shown(t *thread) *ptrace.Regs {
	if _, ok := t.regs.HandlerContext(); !ok {
		return &t.regs
	}
	regs := t.regs
	var context [ptrace.ContextSize]byte
	for addr, ok := regs.HandlerContext(); ok; addr, ok = regs.HandlerContext() {
		if _, err := m.mem.ReadAt(context[:], int64(addr)); err != nil {
			break
		}
		regs.SetContext(&context) // another handler's first instruction, if two signals came at once
	}
	return &regs
}
