package ptrace

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// GetRegs reads the registers of a stopped thread.
func GetRegs(tid int, r *Regs) error {
	return exchange(unix.PTRACE_GETREGS, tid, 0, unsafe.Pointer(r))
}

// SetRegs writes the registers of a stopped thread.
func SetRegs(tid int, r *Regs) error {
	return exchange(unix.PTRACE_SETREGS, tid, 0, unsafe.Pointer(r))
}

// UpdateRegs is SetRegs for a thread whose registers in the kernel are was. If r differs
// in the program counter only, only that is written (PTRACE_POKEUSER). That saves the
// kernel the segment registers and their checks.
func UpdateRegs(tid int, was, r *Regs) error {
	moved := *was
	moved.Rip = r.Rip
	if moved != *r {
		return SetRegs(tid, r)
	}
	return call(unix.PTRACE_POKEUSR, tid, unsafe.Offsetof(r.Rip), uintptr(r.Rip))
}

// rawRegs is GetRegs for a thread that must not notify the Go scheduler, and returns the program counter, too: a method of Regs
// would have code of the race detector.
//
//go:norace
//go:nosplit
//go:nocheckptr
func rawRegs(tid uintptr, r *Regs) (pc uint64, ok bool) {
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGS, tid, 0, uintptr(unsafe.Pointer(r)), 0, 0)
	return r.Rip, e == 0
}

// rawMove sets the program counter of a thread whose registers are r. It notifies the Go scheduler no more than rawRegs does.
//
//go:norace
//go:nosplit
//go:nocheckptr
func rawMove(tid uintptr, r *Regs, to uint64) bool {
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_POKEUSR, tid, unsafe.Offsetof(r.Rip), uintptr(to), 0, 0)
	if e == 0 {
		r.Rip = to
	}
	return e == 0
}
