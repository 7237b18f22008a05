package mem

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Memory is the memory of one process. Reading goes by
// process_vm_readv(2), which is the fastest and may be done by any thread;
// where that fails (PROT_NONE pages, a seccomp filter, a hole in a range) the
// rest is read through /proc/PID/mem. Writing goes through /proc/PID/mem,
// whose FOLL_FORCE reaches read-only text: private pages are copied, the file
// stays as it is.
//
// /proc/PID/mem has a file mode, which CAP_SYS_PTRACE alone does not get past. Where it may not
// be opened, and process_vm_readv may be called, the Memory reads what the process itself may read,
// and writes nothing: a thread in a ptrace stop has to be written through (PTRACE_POKEDATA).
//
// The two differ at an exec: process_vm_readv goes by pid and follows the
// process into its new image, the descriptor stays bound to the address
// space of the Open (fs/proc/base.c, mem_open) and reads and writes nothing
// once that is gone. [Memory.Stale] tells. Likewise a pid that is used again
// is another process to process_vm_readv: its user holds a pidfd.
//
// Safe for concurrent use by any goroutine of any thread; but a kernel booted
// with proc_mem.force_override=ptrace lets only the tracer thread write to
// read-only text.
type Memory struct {
	pid int

	// via is the thread that process_vm_readv is given: the leader, or a
	// living thread once the leader has ended before the others.
	via atomic.Int64

	mu   sync.RWMutex // held for reading across each call: Close waits for them
	fd   int          // /proc/PID/mem, or maps where that may not be opened; -1 when closed
	kind file
}

// A file is what a Memory has open.
type file uint8

const (
	memFile  file = iota // reads and writes
	mapsFile             // tells whether the address space is there, nothing else
)

// Open binds to the present address space of a process. ESRCH also for a
// zombie and a kernel thread: they have none. A process whose leader has
// ended is opened through one of its other threads.
func Open(pid int) (*Memory, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	for {
		m, err := open(pid, pid, dir+"/mem")
		if err != unix.ESRCH {
			return m, err
		}
		gone, tried := false, others(pid)
		for _, tid := range tried {
			task := dir + "/task/" + strconv.Itoa(tid)
			m, err := open(pid, tid, task+"/mem")
			if err != unix.ESRCH {
				return m, err
			}
			gone = gone || unix.Access(task, unix.F_OK) == unix.ENOENT
		}
		// In an execve(2) by another thread the leader is a zombie, until that thread has its number: the thread
		// has gone then, or has the leader's memory.
		if has, lack := hasMemory(dir); lack != nil {
			return nil, lack
		} else if !has && !gone && !slices.ContainsFunc(others(pid), func(tid int) bool { return !slices.Contains(tried, tid) }) {
			return nil, err // neither has there been a thread that the list has missed, in another such execve
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
			err = unix.ESRCH // the files of a zombie are root's, whatever user's process it is
		case access == unix.EFAULT:
			// It may have been a zombie, and have memory since, by an execve(2) of another thread.
			if m.fd, err = openFile(name, unix.O_RDWR); err == unix.EACCES {
				m.kind = mapsFile
				m.fd, err = openFile(strings.TrimSuffix(name, "mem")+"maps", unix.O_RDONLY)
			}
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

// hasMemory reports whether the statm of a directory in /proc, which every user may read, shows a size. ESRCH
// where there is none.
func hasMemory(dir string) (bool, error) {
	b, err := os.ReadFile(dir + "/statm")
	switch {
	case errors.Is(err, unix.ENOENT):
		return false, unix.ESRCH
	case err != nil:
		return false, errors.Unwrap(err)
	}
	return len(b) > 0 && b[0] != '0', nil
}

func openFile(name string, mode int) (int, error) {
	for {
		fd, err := unix.Open(name, mode|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// probe returns how process_vm_readv fails on a thread: EFAULT where it may be used, since the kernel looks at the
// permission first and at the address, where nothing is, second; ESRCH where there is no memory; EPERM where it is denied.
func probe(tid int) error {
	local := [1]unix.Iovec{{Base: new(byte)}}
	local[0].SetLen(1)
	remote := [1]unix.RemoteIovec{{Len: 1}}
	_, err := unix.ProcessVMReadv(tid, local[:], remote[:], 0)
	return err
}

// others lists the threads of a process but its leader.
func others(pid int) []int {
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return nil
	}
	var tids []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil && tid != pid {
			tids = append(tids, tid)
		}
	}
	return tids
}

// Writable reports whether WriteAt may be used: /proc/PID/mem is open.
func (m *Memory) Writable() bool { return m.kind == memFile }

// PID returns the number of the process.
func (m *Memory) PID() int { return m.pid }

// File returns another descriptor of the /proc/PID/mem that is written to, for
// another process perhaps. os.ErrClosed after Close; EACCES where it may not be
// opened.
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

// Stale reports that the address space of the Open is gone: the process has
// exec'd or ended (or the Memory is closed). The kernel reads 0 bytes then
// and fails with EIO at the unmapped address 0 otherwise, so the test costs
// one system call and is exact, with one exception: an address space that is
// shared with another process (a vfork child and its parent, clone with
// CLONE_VM) lives until the last of them leaves it.
func (m *Memory) Stale() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.fd < 0 || m.ended()
}

// ended is Stale for an open descriptor. m.mu is held. maps has a first line as long as there
// is an address space, and is ESRCH when the process is no more.
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

// ReadAt reads len(p) bytes from an address, which is int64(addr) in two's
// complement. A short read returns what was read before the first byte that
// cannot be, and an error. It allocates nothing.
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

// redirect chooses another thread for process_vm_readv, and reports whether there
// is one: the address space lives, but the thread that was used so far has left it.
func (m *Memory) redirect() bool {
	for _, tid := range others(m.pid) {
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
// write. A short write returns what was written and an error. It allocates
// nothing. Another thread of the process that runs meanwhile may see part of
// it; a single byte, or an aligned word, is seen whole. EACCES unless Writable.
func (m *Memory) WriteAt(p []byte, addr int64) (int, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.fd < 0 {
		return 0, os.ErrClosed
	}
	if m.kind != memFile {
		return 0, unix.EACCES // process_vm_writev goes by number, into the next program too
	}
	done, errno := whole(p, addr, func(p []byte, addr int64) (int, error) { return unix.Pwrite(m.fd, p, addr) })
	if errno != 0 {
		return done, errno
	}
	return done, nil
}

// fault maps what /proc/PID/mem says of an address where nothing is mapped
// (EIO), or that no address can be (EINVAL, a negative offset), to EFAULT.
func fault(err error) syscall.Errno {
	errno := err.(syscall.Errno)
	if errno == unix.EIO || errno == unix.EINVAL {
		return unix.EFAULT
	}
	return errno
}
