package mem

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// User is memory as the process itself may use it. Reads and writes that the process
// could not make (guard pages, read-only data) fail with EFAULT, as an instruction of its
// own would fault. It uses process_vm_readv(2) and process_vm_writev(2) only, which take a pid. It belongs
// to the owner of the Memory, whose Close ends both.
type User struct{ m *Memory }

// User returns the process's own view of its memory.
func (m *Memory) User() *User { return &User{m} }

// ReadAt reads len(p) bytes, or fails.
func (u *User) ReadAt(p []byte, addr int64) (int, error) {
	return u.transfer(unix.SYS_PROCESS_VM_READV, p, addr)
}

// WriteAt writes len(p) bytes, or fails. Where the process has executed another program it fails with ESRCH.
func (u *User) WriteAt(p []byte, addr int64) (int, error) {
	if u.m.Stale() {
		return 0, unix.ESRCH
	}
	return u.transfer(unix.SYS_PROCESS_VM_WRITEV, p, addr)
}

func (u *User) transfer(nr uintptr, p []byte, addr int64) (int, error) {
	u.m.mu.RLock()
	defer u.m.mu.RUnlock()
	if u.m.fd < 0 {
		return 0, os.ErrClosed
	}
	n, errno := u.m.call(nr, p, addr)
	if errno != 0 {
		return n, errno
	}
	return n, nil
}

// call moves all of p by process_vm_readv or process_vm_writev. m.mu is held, and the descriptor
// is open.
func (m *Memory) call(nr uintptr, p []byte, addr int64) (int, syscall.Errno) {
	if len(p) == 0 {
		return 0, 0
	}
	n, e := m.move(nr, p, addr)
	if e == unix.ESRCH && !m.ended() && m.redirect() {
		n, e = m.move(nr, p, addr)
	}
	if e == 0 && n < len(p) {
		e = unix.EFAULT
	}
	return n, e
}

// move is the call itself.
func (m *Memory) move(nr uintptr, p []byte, addr int64) (int, syscall.Errno) {
	local := unix.Iovec{Base: &p[0]}
	local.SetLen(len(p))
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(p)}
	n, _, e := unix.Syscall6(nr, uintptr(m.via.Load()), uintptr(unsafe.Pointer(&local)), 1,
		uintptr(unsafe.Pointer(&remote)), 1, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), 0
}
