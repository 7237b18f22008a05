package ptrace

import "encoding/binary"

// SyscallCode is how many bytes in front of a return address SyscallBefore needs.
const SyscallCode = 9

// SyscallBefore returns the number of the system call that the instruction at the end of code makes.
// The number must be part of the instruction before that: mov $nr, %eax or %rax, or xor %eax, %eax. Otherwise
// ok is false.
func SyscallBefore(code *[SyscallCode]byte) (nr int64, ok bool) {
	switch {
	case code[7] != 0x0f || code[8] != 0x05:
		return 0, false
	case code[2] == 0xb8, code[0] == 0x48 && code[1] == 0xc7 && code[2] == 0xc0:
		return int64(int32(binary.LittleEndian.Uint32(code[3:]))), true
	}
	return 0, code[5] == 0x31 && code[6] == 0xc0
}

// SetSyscall changes the registers to those of a thread in system call nr.
func (r *Regs) SetSyscall(nr int64) { r.OrigRax = uint64(nr) }

// The flags that arithmetic instructions set. No such instruction leaves all of them set: a
// result that is zero is not negative.
const arithmetic = 0x8d5 // CF, PF, AF, ZF, SF, OF

// Mark marks a thread that is about to make a system call. The mark stays until the thread
// has returned from the call and has computed something. No program looks at the flags there.
func (r *Regs) Mark() { r.Eflags |= arithmetic }

// Marked reports whether a thread has a mark.
func (r *Regs) Marked() bool { return r.Eflags&arithmetic == arithmetic }

// SyscallReturn returns the number of the system call that the thread is leaving, and
// its result as the kernel would give it to the program. ok is false if the thread is
// not at the end of a system call.
func (r *Regs) SyscallReturn() (nr int64, result int64, ok bool) {
	if int64(r.OrigRax) < 0 {
		return 0, 0, false
	}
	return int64(r.OrigRax), int64(r.Rax), true
}

// SyscallArgs returns the six arguments of the system call the thread is in.
func (r *Regs) SyscallArgs() [6]uint64 {
	return [6]uint64{r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9}
}

// SetSyscallArg changes argument i of the system call that the thread is about to make.
func (r *Regs) SetSyscallArg(i int, v uint64) {
	*[...]*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9}[i] = v
}

// SyscallLength is the length of the SYSCALL and INT 0x80 instructions. The program counter of a
// thread that has made a system call is that far behind that of a thread that is about to make it.
const SyscallLength = 2

// RestartSyscall moves a thread that is leaving a system call back in front of it. The
// thread makes the same call once more when it runs. RestartSyscall reports false, and does
// nothing, for a thread that is in neither 64-bit nor 32-bit code. A 32-bit program may have
// entered the kernel by SYSENTER or SYSCALL. Then an INT 0x80 of the same length is in front
// of the place that it returns to (arch/x86/entry/vdso/vdso32/system_call.S).
func (r *Regs) RestartSyscall() bool {
	if int64(r.OrigRax) < 0 || !r.Is64Bit() && !r.Is32Bit() {
		return false
	}
	r.Rip -= SyscallLength
	r.Rax = r.OrigRax
	return true
}

// FinishSyscall undoes RestartSyscall on a thread that has not run since, and makes
// the call return result.
func (r *Regs) FinishSyscall(result int64) {
	r.Rip += SyscallLength
	r.Rax = uint64(result)
}

// AtSyscall reports whether the thread is at pc, in front of system call nr, as
// RestartSyscall leaves it.
func (r *Regs) AtSyscall(pc uint64, nr int64) bool { return r.Rip == pc && r.Rax == uint64(nr) }
