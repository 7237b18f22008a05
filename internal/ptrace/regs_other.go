//go:build !amd64

package ptrace

import (
	"errors"
	"io"
)

// SetSaved does nothing.
func (r *Regs) SetSaved(saved *[21]uint64) {}

// SetSampled does nothing.
func (r *Regs) SetSampled(*[20]uint64) {}

// SyscallCode is how many bytes SyscallBefore needs.
const SyscallCode = 7

// SyscallBefore reports false.
func SyscallBefore(*[SyscallCode]byte) (nr int64, ok bool) { return 0, false }

// SetSyscall does nothing.
func (r *Regs) SetSyscall(int64) {}

// SetThreadPointer does nothing.
func (r *Regs) SetThreadPointer(uint64) {}

// PC returns 0.
func (r *Regs) PC() uint64 { return 0 }

// SetPC does nothing.
func (r *Regs) SetPC(uint64) {}

// SP returns 0.
func (r *Regs) SP() uint64 { return 0 }

// SetSP does nothing.
func (r *Regs) SetSP(uint64) {}

// TrapFlag reports false.
func (r *Regs) TrapFlag() bool { return false }

// SetTrapFlag does nothing.
func (r *Regs) SetTrapFlag(bool) {}

// Mark does nothing.
func (r *Regs) Mark() {}

// Marked reports false.
func (r *Regs) Marked() bool { return false }

// FP returns 0.
func (r *Regs) FP() uint64 { return 0 }

// InterruptedResult returns false.
func InterruptedResult(int64) bool { return false }

// ThreadPointer returns 0.
func (r *Regs) ThreadPointer() uint64 { return 0 }

// Args returns zeros.
func (r *Regs) Args() [6]uint64 { return [6]uint64{} }

// Result returns 0.
func (r *Regs) Result() uint64 { return 0 }

// SyscallReturn reports false.
func (r *Regs) SyscallReturn() (nr int64, result int64, ok bool) { return 0, 0, false }

// SyscallArgs returns zeros.
func (r *Regs) SyscallArgs() [6]uint64 { return [6]uint64{} }

// SetSyscallArg does nothing.
func (r *Regs) SetSyscallArg(int, uint64) {}

// HandlerContext reports false.
func (r *Regs) HandlerContext() (addr uint64, ok bool) { return 0, false }

// ContextSize is 0.
const ContextSize = 0

// SetContext does nothing.
func (r *Regs) SetContext(*[ContextSize]byte) {}

// Is32Bit reports false.
func (r *Regs) Is32Bit() bool { return false }

// RestartSyscall reports false.
func (r *Regs) RestartSyscall() bool { return false }

// FinishSyscall does nothing.
func (r *Regs) FinishSyscall(int64) {}

// SetSyscallResult does nothing.
func (r *Regs) SetSyscallResult(int64) {}

// AtSyscall reports false.
func (r *Regs) AtSyscall(uint64, int64) bool { return false }

// SyscallLength is 0.
const SyscallLength = 0

// CallRestart is no system call's number.
const CallRestart = -1

const (
	CallLength = 0
	CallWindow = 0
)

// RestartedCall reports false.
func RestartedCall([]byte) (nr int64, ok bool) { return 0, false }

// CloneVM is a flag of clone(2).
const CloneVM = 0x100

// CloneFlags returns errors.ErrUnsupported.
func (r *Regs) CloneFlags(io.ReaderAt) (uint64, error) { return 0, errors.ErrUnsupported }
