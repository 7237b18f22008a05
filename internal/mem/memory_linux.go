package mem

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"ptools/internal/procfs"
)

// A Memory is the memory of one process. It reads by process_vm_readv(2), which
// is the fastest way, and open to any thread. Where that fails (PROT_NONE pages,
// a seccomp filter, a hole in a range) it reads the rest through /proc/PID/mem.
// It writes through /proc/PID/mem, whose FOLL_FORCE can write read-only text:
// private pages are copied, and the file stays unchanged.
//
// The file mode of /proc/PID/mem may deny us the file: CAP_SYS_PTRACE alone does not override it. If
// process_vm_readv may be called then, the Memory reads what the process itself may read, and writes
// nothing. Writing needs a thread in a ptrace stop then (PTRACE_POKEDATA).
//
// The two ways differ at an exec. process_vm_readv takes a pid, and follows the
// process into its new image. The descriptor stays bound to the address space of
// the Open (fs/proc/base.c, mem_open), and reads and writes nothing once that is
// gone. [Memory.Stale] tells whether it is. Likewise process_vm_readv reads another
// process if the pid is used again: the user of a Memory has to hold a pidfd.
//
// Safe for concurrent use by any goroutine of any thread. But a kernel booted with
// proc_mem.force_override=ptrace lets only the tracer thread write to read-only
// text.
type Memory struct {
	pid int

	// via is the TID that process_vm_readv is called with: the leader, or a
	// living thread if the leader has ended before the others.
	via atomic.Int64

	mu   sync.RWMutex // held for reading across each call: Close waits for them
	fd   int          // /proc/PID/mem, or maps where that may not be opened; -1 when closed
	kind file
}

// A file is what a Memory has open.
type file uint8

const (
	memFile  file = iota // reads and writes
	mapsFile             // only shows whether the address space is there
)

// Open binds to the present address space of a process. It returns ESRCH also for
// a zombie and a kernel thread, which have no address space. A process whose leader
// has ended is opened through one of its other threads.
func Open(pid int) (*Memory, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	for {
		m, err := open(pid, pid, dir+"/mem")
		if err != unix.ESRCH {
			return m, err
		}
		tried := procfs.Others(pid)
		for _, tid := range tried {
			m, err := open(pid, tid, dir+"/task/"+strconv.Itoa(tid)+"/mem")
			if err != unix.ESRCH {
				return m, err
			}
		}
		if none, lack := procfs.NoMemory(pid, tried); none || errors.Is(lack, err) {
			return nil, err
		} else if lack != nil {
			return nil, lack
		}
	}
}

func open(pid, tid int, name string) (*Memory, error) {
	m := &Memory{pid: pid}
	m.via.Store(int64(tid))
	var err error
	m.fd, err = openFile(name, unix.O_RDWR)
	if err == unix.EACCES {
		switch access := probe(tid); {
		case access == unix.ESRCH:
			err = unix.ESRCH // the files of a zombie belong to root, whichever user the process belongs to
		case access == unix.EFAULT:
			err = m.openMaps(tid, name)
		case probe(os.Getpid()) != unix.EFAULT:
			err = ErrFiltered
		}
	}
	if err == unix.ENOENT {
		return nil, unix.ESRCH
	}
	if err != nil {
		return nil, err
	}
	if m.Stale() {
		m.Close()
		return nil, unix.ESRCH
	}
	return m, nil
}

// openMaps opens the maps file of a thread whose mem file may not be opened. It was perhaps a zombie then, and has memory
// now, by an execve(2) of another thread: so its mem file is tried twice more, and the thread has memory in between. If it was a zombie
// both times, there was a second execve, after which the address space of the maps file is gone.
func (m *Memory) openMaps(tid int, name string) (err error) {
	if m.fd, err = openFile(strings.TrimSuffix(name, "mem")+"maps", unix.O_RDONLY); err != nil {
		return err
	}
	m.kind = mapsFile
	for again := range 2 {
		if again > 0 && probe(tid) == unix.ESRCH {
			unix.Close(m.fd)
			return unix.ESRCH
		}
		if fd, err := openFile(name, unix.O_RDWR); err != unix.EACCES {
			unix.Close(m.fd)
			m.fd, m.kind = fd, memFile
			return err
		}
	}
	return nil
}

func openFile(name string, mode int) (int, error) {
	for {
		fd, err := unix.Open(name, mode|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// probe returns how process_vm_readv fails on a thread, for an address where nothing is mapped. EFAULT: it may be used,
// since the kernel checks the permission before the address. ESRCH: there is no memory. EPERM: it is denied.
func probe(tid int) error {
	local := [1]unix.Iovec{{Base: new(byte)}}
	local[0].SetLen(1)
	remote := [1]unix.RemoteIovec{{Len: 1}}
	_, err := unix.ProcessVMReadv(tid, local[:], remote[:], 0)
	return err
}

// Writable reports whether WriteAt may be used: /proc/PID/mem is open.
func (m *Memory) Writable() bool { return m.kind == memFile }

// PID returns the number of the process.
func (m *Memory) PID() int { return m.pid }

// File returns another descriptor of the /proc/PID/mem that is written to. It may be
// for another process. The error is os.ErrClosed after Close, and EACCES where the
// file may not be opened.
func (m *Memory) File() (*os.File, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.fd < 0 {
		return nil, os.ErrClosed
	}
	if m.kind != memFile {
		return nil, &os.PathError{Op: "open", Path: "/proc/" + strconv.Itoa(m.pid) + "/mem", Err: unix.EACCES}
	}
	fd, err := unix.FcntlInt(uintptr(m.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), "/proc/"+strconv.Itoa(m.pid)+"/mem"), nil
}

// Close closes the descriptor. It waits for calls under way, and is
// idempotent.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fd >= 0 {
		unix.Close(m.fd)
		m.fd = -1
	}
	return nil
}

// Bound returns the same memory, whose reads are of the address space of the Open, as its writes are: the process may have
// executed another program, and a process that shared its memory go on in that address space. Where /proc/PID/mem
// may not be opened, reads follow the process.
func (m *Memory) Bound() *Bound { return &Bound{m} }

// Bound is the memory of the address space that a Memory was opened in.
type Bound struct{ m *Memory }

// ReadAt is [Memory.ReadAt] of that address space.
func (b *Bound) ReadAt(p []byte, addr int64) (int, error) {
	b.m.mu.RLock()
	defer b.m.mu.RUnlock()
	if b.m.fd < 0 {
		return 0, os.ErrClosed
	}
	n, errno := b.m.pread(p, addr)
	if errno != 0 {
		return n, errno
	}
	return n, nil
}

// WriteAt is [Memory.WriteAt].
func (b *Bound) WriteAt(p []byte, addr int64) (int, error) { return b.m.WriteAt(p, addr) }

// Stale reports that the address space of the Open is gone: the process has
// exec'd or ended (or the Memory is closed). A read at the unmapped address 0
// returns 0 bytes then, and fails with EIO otherwise. So the test costs one
// system call, and is exact with one exception: an address space that is shared
// with another process (a vfork child and its parent, clone with CLONE_VM)
// lives until the last of them leaves it.
func (m *Memory) Stale() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.fd < 0 || m.ended()
}

// ended is Stale for an open descriptor. m.mu is held. maps has a first line as long as there
// is an address space. Reading it fails with ESRCH when the process is gone.
func (m *Memory) ended() bool {
	var b [1]byte
	for {
		n, err := unix.Pread(m.fd, b[:], 0)
		switch {
		case err == unix.EINTR:
		case m.kind == mapsFile:
			return n != 1
		default:
			return n == 0 && err == nil
		}
	}
}

// ReadAt reads len(p) bytes from an address, which is converted to int64 in two's
// complement. A short read returns how much was read before the first byte that
// cannot be read, and an error. ReadAt allocates nothing.
func (m *Memory) ReadAt(p []byte, addr int64) (int, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.fd < 0 {
		return 0, os.ErrClosed
	}
	if len(p) == 0 {
		return 0, nil
	}
	local := [1]unix.Iovec{{Base: &p[0]}}
	local[0].SetLen(len(p))
	remote := [1]unix.RemoteIovec{{Base: uintptr(addr), Len: len(p)}}
	n, err := unix.ProcessVMReadv(int(m.via.Load()), local[:], remote[:], 0)
	if n = max(n, 0); n == len(p) {
		return n, nil
	}
	rest, errno := m.pread(p[n:], addr+int64(n))
	if errno != 0 {
		return n + rest, errno
	}
	if err == unix.ESRCH {
		m.redirect()
	}
	return n + rest, nil
}

// redirect chooses another thread for process_vm_readv, and reports whether there is
// one. It is called where the address space lives, but the thread used so far has left it.
func (m *Memory) redirect() bool {
	for _, tid := range procfs.Others(m.pid) {
		if probe(tid) == unix.EFAULT {
			m.via.Store(int64(tid))
			return true
		}
	}
	return false
}

// pread reads all of p through the descriptor. m.mu is held.
func (m *Memory) pread(p []byte, addr int64) (done int, errno syscall.Errno) {
	if m.kind != memFile {
		return m.call(unix.SYS_PROCESS_VM_READV, p, addr)
	}
	return whole(p, addr, func(p []byte, addr int64) (int, error) { return unix.Pread(m.fd, p, addr) })
}

// whole repeats a call that moves some of p until all is moved.
func whole(p []byte, addr int64, move func(p []byte, addr int64) (int, error)) (done int, errno syscall.Errno) {
	for done < len(p) {
		n, err := move(p[done:], addr+int64(done))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return done, fault(err)
		case n == 0:
			return done, unix.ESRCH
		default:
			done += n
		}
	}
	return done, 0
}

// WriteAt writes len(p) bytes, also to text that the process itself may not
// write. A short write returns how much was written, and an error. WriteAt
// allocates nothing. A thread of the process that runs meanwhile may see part of
// the write; it sees a single byte, or an aligned word, whole. The error is EACCES
// unless Writable.
func (m *Memory) WriteAt(p []byte, addr int64) (int, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.fd < 0 {
		return 0, os.ErrClosed
	}
	if m.kind != memFile {
		return 0, unix.EACCES // process_vm_writev takes a pid, and would write into the next program too
	}
	done, errno := whole(p, addr, func(p []byte, addr int64) (int, error) { return unix.Pwrite(m.fd, p, addr) })
	if errno != 0 {
		return done, errno
	}
	return done, nil
}

// fault maps two errors of /proc/PID/mem to EFAULT: EIO, of an address where nothing is
// mapped, and EINVAL, of a negative offset, which no address can be.
func fault(err error) syscall.Errno {
	errno := err.(syscall.Errno)
	if errno == unix.EIO || errno == unix.EINVAL {
		return unix.EFAULT
	}
	return errno
}
