package tracee

import (
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"syscall"

	"ptools/internal/guard"
	"ptools/internal/mem"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Memory is the target's memory.
type Memory struct {
	g     *Group
	Mem   AddressSpace
	Bound Words // the same memory, whose reads are of this address space also when the process has another one
	Used  Words // with the access rights of the target itself, for memory that the thread which stands has just used: pages that do not come are waited for
	Watch *guard.Watch
}

// Open binds to the address space that the target has now. The descriptor is opened
// first. So nothing that is read about the address space afterwards is older than the
// memory that is written to. Without a descriptor the memory is written by ptrace(2).
func (m *Memory) Open() error {
	opened, err := mem.Open(m.g.PID)
	if err != nil {
		return err
	}
	m.Close()
	patient := opened.Patiently()
	m.Mem, m.Bound, m.Used = &quickMemory{patient, patient.Quick()}, patient.QuickBound(), opened.User()
	if !mem.Forces() {
		auxv, _ := procfs.ReadAuxv(m.g.PID) // empty: no other tracee is known to have the memory
		bound := m.Bound
		m.Mem = &quickMemory{patient, &tracersMemory{patient.Quick(), bound, m.g, auxv}}
		m.Bound = &tracersMemory{bound, bound, m.g, auxv}
	}
	if !opened.Writable() {
		poked := pokedMemory{patient, m.g.Standing}
		m.Mem, m.Bound = poked, poked
	}
	m.Watch.Bind(opened)
	return nil
}

func (m *Memory) Close() { m.Lose(syscall.ESRCH) }

// Lose gives up the target's memory. Its users get err from then on.
func (m *Memory) Lose(err error) {
	m.Watch.Bind(nil)
	m.Mem.Close()
	m.Mem, m.Bound, m.Used = noMemory{err}, noMemory{err}, noMemory{err}
}

// AddressSpace is what the control goroutine needs of the target's address space.
type AddressSpace interface {
	Words
	io.Closer
	Stale() bool // the address space is empty: nothing is mapped in it any more
}

// Words is memory to be read and written.
type Words interface {
	io.ReaderAt
	io.WriterAt
}

// noMemory replaces memory that cannot be accessed: the process has no program yet,
// or is gone, or has executed a program that we may not read.
type noMemory struct{ err error }

func (m noMemory) ReadAt([]byte, int64) (int, error) { return 0, m.err }

func (m noMemory) WriteAt([]byte, int64) (int, error) { return 0, m.err }

func (m noMemory) Close() error { return nil }

func (m noMemory) Stale() bool { return true }

// quickMemory is memory that the control goroutine reads and writes while threads stand.
type quickMemory struct {
	*mem.Patient
	quick Words
}

func (m *quickMemory) ReadAt(p []byte, addr int64) (int, error)  { return m.quick.ReadAt(p, addr) }
func (m *quickMemory) WriteAt(p []byte, addr int64) (int, error) { return m.quick.WriteAt(p, addr) }

// tracersMemory is memory whose text a kernel lets only the tracer of the thread write by whose number the memory was opened, and
// only as long as that thread has the memory (proc_mem_foll_force in fs/proc/base.c, Linux 6.12). A first thread may end, or execute a
// program, while others go on in the memory. Then it is written by the number of another tracee.
type tracersMemory struct {
	Words
	bound Words // the same address space
	g     *Group
	auxv  procfs.Auxv // of the address space: an exec draws its addresses anew
}

// WriteAt writes to the memory, of which a tracee is known to have it by the auxiliary vector and the bytes there. It is called by
// the tracer.
func (m *tracersMemory) WriteAt(p []byte, addr int64) (int, error) {
	n, err := m.Words.WriteAt(p, addr)
	if err != syscall.EFAULT {
		return n, err
	}
	old := make([]byte, len(p))
	if _, e := m.bound.ReadAt(old, addr); e != nil {
		return n, err
	}
	for tid, t := range m.g.Threads {
		if t.Role == RoleCopy || len(m.auxv) == 0 {
			continue
		}
		auxv, e := procfs.ReadAuxv(tid)
		if e == nil && maps.Equal(auxv, m.auxv) && mem.Replace(tid, old, p, addr) == nil {
			return len(p), nil
		}
	}
	return n, err
}

// pokedMemory is the memory of a target without a descriptor. Writing needs a stopped thread, and reading does not.
type pokedMemory struct {
	*mem.Patient
	standing func() *Thread
}

// ErrUnreached is the error of writing where no thread can be stopped, because every one sleeps uninterruptibly.
var ErrUnreached = errors.New("no thread of the process can be stopped, through which its memory could be written")

// ReadAt reads the memory. Where the target has ended and another process that shared its memory has not, it reads
// through a stopped thread.
func (m pokedMemory) ReadAt(p []byte, addr int64) (int, error) {
	n, err := m.Patient.ReadAt(p, addr)
	if err != syscall.ESRCH {
		return n, err
	}
	t := m.standing()
	if t == nil {
		return n, err
	}
	return ptrace.Memory{TID: t.TID}.ReadAt(p, addr)
}

// WriteAt writes through a stopped thread.
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

// Absent reports whether the target's memory cannot be accessed.
func (m *Memory) Absent() bool {
	_, none := m.Mem.(noMemory)
	return none
}

// Pokes reports whether the target's memory can be written only through a stopped thread.
func (m *Memory) Pokes() bool {
	_, ok := m.Mem.(pokedMemory)
	return ok
}

// ReadAt reads the target's present memory, with its traps.
func (m *Memory) ReadAt(p []byte, addr int64) (int, error) { return m.Mem.ReadAt(p, addr) }

// Word reads an 8-byte word, such as an address, out of the target.
func (m *Memory) Word(addr uint64) (uint64, error) {
	var b [8]byte
	_, err := m.Mem.ReadAt(b[:], int64(addr))
	return binary.LittleEndian.Uint64(b[:]), err
}

// shown returns the registers that a look sees of a stopped thread. Those are its own,
// with one exception: a thread at the first instruction of a signal handler is shown
// where the signal interrupted it. Such a thread was in the signal-delivery stop until we
// resumed it, for longer than anything there takes without a tracer. A count of looks
// would count that as time in the handler.
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
