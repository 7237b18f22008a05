package ptrace

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The register sets of ptrace(2). PTRACE_GETREGS does not exist on this machine.
const (
	setGeneral = 1     // NT_PRSTATUS
	setTLS     = 0x401 // NT_ARM_TLS
	setSyscall = 0x404 // NT_ARM_SYSTEM_CALL
)

// generalSize is the size of the set of general registers, which are the first ones of Regs.
const generalSize = 34 * 8

// registerSet reads or writes a register set.
func registerSet(request, tid int, set uintptr, at unsafe.Pointer, size uint64) error {
	v := unix.Iovec{Base: (*byte)(at), Len: size}
	return exchange(request, tid, set, unsafe.Pointer(&v))
}

// GetRegs reads the registers of a stopped thread. The first argument of its system call is not among them.
func GetRegs(tid int, r *Regs) error {
	if err := registerSet(unix.PTRACE_GETREGSET, tid, setGeneral, unsafe.Pointer(r), generalSize); err != nil {
		return err
	}
	var nr int32
	if err := registerSet(unix.PTRACE_GETREGSET, tid, setSyscall, unsafe.Pointer(&nr), 4); err != nil {
		return err
	}
	r.OrigX0, r.SyscallNr = 0, uint64(int64(nr))
	return registerSet(unix.PTRACE_GETREGSET, tid, setTLS, unsafe.Pointer(&r.Tpidr), 8)
}

// SetRegs writes the registers of a stopped thread, with the number of its system call.
func SetRegs(tid int, r *Regs) error {
	if err := registerSet(unix.PTRACE_SETREGSET, tid, setGeneral, unsafe.Pointer(r), generalSize); err != nil {
		return err
	}
	nr := int32(r.SyscallNr)
	return registerSet(unix.PTRACE_SETREGSET, tid, setSyscall, unsafe.Pointer(&nr), 4)
}

// UpdateRegs is SetRegs for a thread whose registers in the kernel are was. If r differs in general registers only, the rest is
// not written.
func UpdateRegs(tid int, was, r *Regs) error {
	if was.SyscallNr != r.SyscallNr {
		return SetRegs(tid, r)
	}
	return registerSet(unix.PTRACE_SETREGSET, tid, setGeneral, unsafe.Pointer(r), generalSize)
}

// rawRegs is GetRegs for a thread that must not notify the Go scheduler, and returns the program counter, too: a method of Regs
// would have code of the race detector. The stopped thread has executed a trap, and is in no
// system call.
//
//go:norace
//go:nosplit
//go:nocheckptr
func rawRegs(tid uintptr, r *Regs) (pc uint64, ok bool) {
	r.OrigX0, r.SyscallNr = 0, noSyscall
	ok = rawSet(unix.PTRACE_GETREGSET, tid, setGeneral, unsafe.Pointer(r), generalSize) &&
		rawSet(unix.PTRACE_GETREGSET, tid, setTLS, unsafe.Pointer(&r.Tpidr), 8)
	return r.Pc, ok
}

// rawMove sets the program counter of a thread whose registers are r. It notifies the Go scheduler no more than rawRegs does.
//
//go:norace
//go:nosplit
//go:nocheckptr
func rawMove(tid uintptr, r *Regs, to uint64) bool {
	from := r.Pc
	r.Pc = to
	if rawSet(unix.PTRACE_SETREGSET, tid, setGeneral, unsafe.Pointer(r), generalSize) {
		return true
	}
	r.Pc = from
	return false
}

//go:norace
//go:nosplit
//go:nocheckptr
func rawSet(request, tid, set uintptr, at unsafe.Pointer, size uint64) bool {
	v := unix.Iovec{Base: (*byte)(at), Len: size}
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, request, tid, set, uintptr(unsafe.Pointer(&v)), 0, 0)
	return e == 0
}
