package tracee

import (
	"encoding/binary"
	"errors"
	"io"
	"syscall"

	"ptools/internal/guard"
	"ptools/internal/mem"
	"ptools/internal/ptrace"
)

// Memory is the target's memory.
type Memory struct {
	g     *Group
	Mem   AddressSpace
	User  Words // the same as the target itself may use it
	Watch *guard.Watch
}

// Open binds to the address space that the target has now. The descriptor
// comes first: what is read about the address space afterwards can then be no older
// than the memory that is written to. Without a descriptor it is written by ptrace(2).
func (m *Memory) Open() error {
	opened, err := mem.Open(m.g.PID)
	if err != nil {
		return err
	}
	m.Close()
	m.Mem, m.User = opened, opened.User()
	if !opened.Writable() {
		m.Mem = pokedMemory{opened, m.g.Standing}
	}
	m.Watch.Bind(opened)
	return nil
}

func (m *Memory) Close() { m.Lose(syscall.ESRCH) }

// Lose does without the target's memory; err is what its users get.
func (m *Memory) Lose(err error) {
	m.Watch.Bind(nil)
	m.Mem.Close()
	m.Mem, m.User = noMemory{err}, noMemory{err}
}

// AddressSpace is what the control goroutine needs of the target's address space.
type AddressSpace interface {
	Words
	io.Closer
	Stale() bool // nothing is in it any more
}

// Words is memory to be read and written.
type Words interface {
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
	standing func() *Thread
}

// ErrUnreached is the error of writing where every thread sleeps uninterruptibly.
var ErrUnreached = errors.New("no thread of the process can be stopped, through which its memory could be written")

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
	return ptrace.Memory{TID: t.TID}.ReadAt(p, addr)
}

// WriteAt writes through a thread that stands.
func (m pokedMemory) WriteAt(p []byte, addr int64) (int, error) {
	t := m.standing()
	if t == nil {
		return 0, ErrUnreached
	}
	n, err := ptrace.Memory{TID: t.TID}.WriteAt(p, addr)
	if err == syscall.EIO {
		err = syscall.EFAULT
	}
	return n, err
}

// Absent reports whether the target's memory cannot be had.
func (m *Memory) Absent() bool {
	_, none := m.Mem.(noMemory)
	return none
}

// Pokes reports whether the target's memory can be written only through a thread that stands.
func (m *Memory) Pokes() bool {
	_, ok := m.Mem.(pokedMemory)
	return ok
}

// ReadAt reads the target's present memory, with its traps.
func (m *Memory) ReadAt(p []byte, addr int64) (int, error) { return m.Mem.ReadAt(p, addr) }

// Word reads an address out of the target.
func (m *Memory) Word(addr uint64) (uint64, error) {
	var b [8]byte
	_, err := m.Mem.ReadAt(b[:], int64(addr))
	return binary.LittleEndian.Uint64(b[:]), err
}

// shown returns the registers that a look sees of a stopped thread: its own, except
// that one which has come no further than to the first instruction of a signal's
// handler is shown where the signal has met it. It has stood in the stop of that
// signal until we answered, for longer than anything there takes without a tracer;
// a count of looks would take that for time in the handler.
func (m *Memory) shown(t *Thread) *ptrace.Regs {
	if _, ok := t.Regs.HandlerContext(); !ok {
		return &t.Regs
	}
	regs := t.Regs
	var context [ptrace.ContextSize]byte
	for addr, ok := regs.HandlerContext(); ok; addr, ok = regs.HandlerContext() {
		if _, err := m.Mem.ReadAt(context[:], int64(addr)); err != nil {
			break
		}
		regs.SetContext(&context) // another handler's first instruction, if two signals came at once
	}
	return &regs
}
