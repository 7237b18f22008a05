package ptrace

import (
	"encoding/binary"

	"ptools/internal/a64"
)

// SyscallCode is how many bytes in front of a return address SyscallBefore needs.
const SyscallCode = 2 * a64.Size

// SyscallBefore returns the number of the system call that the instruction at the end of code makes.
// The number must be set by the instruction before that: mov x8, #number, or mov w8, #number. Otherwise ok is false.
func SyscallBefore(code *[SyscallCode]byte) (nr int64, ok bool) {
	set, call := binary.LittleEndian.Uint32(code[:]), binary.LittleEndian.Uint32(code[a64.Size:])
	if !a64.IsSyscall(call) {
		return 0, false
	}
	reg, v, ok := a64.MoveImm(set)
	return int64(v), ok && reg == numberReg
}

// numberReg is the register that has the number of a system call.
const numberReg = 8

// SetSyscall changes the registers to those of a thread in system call nr.
func (r *Regs) SetSyscall(nr int64) { r.SyscallNr = uint64(nr) }

// The flags that arithmetic instructions set. No such instruction leaves all of them set: a
// result that is zero is not negative.
const arithmetic = 0xf << 28 // N, Z, C, V

// Mark marks a thread that is about to make a system call. The mark stays until the thread
// has returned from the call and has computed something. No program looks at the flags there.
func (r *Regs) Mark() { r.Pstate |= arithmetic }

// Marked reports whether a thread has a mark.
func (r *Regs) Marked() bool { return r.Pstate&arithmetic == arithmetic }

// SyscallReturn returns the number of the system call that the thread is leaving, and
// its result as the kernel would give it to the program. ok is false if the thread is
// not at the end of a system call, or in a stop: there the kernel has forgotten the number, and has moved the thread back
// in front of a call that it restarts (do_signal in arch/arm64/kernel/signal.c).
func (r *Regs) SyscallReturn() (nr int64, result int64, ok bool) {
	if int64(r.SyscallNr) < 0 {
		return 0, 0, false
	}
	return int64(r.SyscallNr), int64(r.X[0]), true
}

// SyscallArgs returns the six arguments of the system call the thread is in. The first is known only where the kernel shows
// it: a call that has returned has its result there.
func (r *Regs) SyscallArgs() [6]uint64 {
	return [6]uint64{r.OrigX0, r.X[1], r.X[2], r.X[3], r.X[4], r.X[5]}
}

// SetSyscallArg changes argument i of the system call that the thread is about to make.
func (r *Regs) SetSyscallArg(i int, v uint64) { r.X[i] = v }

// SyscallLength is the length of the instruction that makes a system call. The program counter of a
// thread that has made a system call is that far behind that of a thread that is about to make it.
const SyscallLength = a64.Size

// RestartSyscall moves a thread that is leaving a system call back in front of it. The
// thread makes the same call once more when it runs. RestartSyscall reports false, and does
// nothing, for a thread that is not in 64-bit code.
func (r *Regs) RestartSyscall() bool {
	if int64(r.SyscallNr) < 0 || !r.Is64Bit() {
		return false
	}
	r.Pc -= SyscallLength
	r.X[0] = r.OrigX0
	return true
}

// FinishSyscall undoes RestartSyscall on a thread that has not run since, and makes
// the call return result.
func (r *Regs) FinishSyscall(result int64) {
	r.Pc += SyscallLength
	r.X[0] = uint64(result)
}

// AtSyscall reports whether the thread is at pc, in front of system call nr, as
// RestartSyscall leaves it.
func (r *Regs) AtSyscall(pc uint64, nr int64) bool { return r.Pc == pc && r.X[numberReg] == uint64(nr) }
