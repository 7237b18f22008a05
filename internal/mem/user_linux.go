package mem

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// User is memory as the process itself may use it: what it could not read or write
// (guard pages, read-only data) fails with EFAULT, as an instruction of its own
// would fault. It goes by process_vm_readv(2) and process_vm_writev(2) only. It is
// for the owner of the Memory; Close ends both.
type User struct{ m *Memory }

// User returns the process's own view of its memory.
func (m *Memory) User() *User { return &User{m} }

// ReadAt reads len(p) bytes, or fails.
func (u *User) ReadAt(p []byte, addr int64) (int, error) {
	return u.transfer(unix.SYS_PROCESS_VM_READV, p, addr)
}

// WriteAt writes len(p) bytes, or fails.
func (u *User) WriteAt(p []byte, addr int64) (int, error) {
	return u.transfer(unix.SYS_PROCESS_VM_WRITEV, p, addr)
}

func (u *User) transfer(nr uintptr, p []byte, addr int64) (int, error) {
	u.m.mu.RLock()
	defer u.m.mu.RUnlock()
	if u.m.fd < 0 {
		return 0, os.ErrClosed
	}
	if len(p) == 0 {
		return 0, nil
	}
	local := unix.Iovec{Base: &p[0]}
	local.SetLen(len(p))
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(p)}
	n, _, e := unix.Syscall6(nr, uintptr(u.m.via.Load()), uintptr(unsafe.Pointer(&local)), 1,
		uintptr(unsafe.Pointer(&remote)), 1, 0)
	if e == unix.ESRCH && !u.m.ended() && u.m.redirect() {
		n, _, e = unix.Syscall6(nr, uintptr(u.m.via.Load()), uintptr(unsafe.Pointer(&local)), 1,
			uintptr(unsafe.Pointer(&remote)), 1, 0)
	}
	if e != 0 {
		return 0, e
	}
	if int(n) < len(p) {
		return int(n), unix.EFAULT
	}
	return int(n), nil
}
