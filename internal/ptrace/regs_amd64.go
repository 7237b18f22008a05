package ptrace

import (
	"encoding/binary"
	"unsafe"
)

// SetSaved sets the registers that the kernel saves when a thread enters it (struct
// pt_regs), which are the first.
func (r *Regs) SetSaved(saved *[21]uint64) {
	*(*[21]uint64)(unsafe.Pointer(r)) = *saved
}

// SetSampled sets the registers that a perf event samples of a thread of user code, in their
// order there (arch/x86/include/uapi/asm/perf_regs.h, without DS to GS). The thread
// is in no system call.
func (r *Regs) SetSampled(v *[20]uint64) {
	*r = Regs{
		Rax: v[0], Rbx: v[1], Rcx: v[2], Rdx: v[3], Rsi: v[4], Rdi: v[5], Rbp: v[6], Rsp: v[7],
		Rip: v[8], Eflags: v[9], Cs: v[10], Ss: v[11], R8: v[12], R9: v[13], R10: v[14], R11: v[15],
		R12: v[16], R13: v[17], R14: v[18], R15: v[19], OrigRax: ^uint64(0),
	}
}

// SyscallCode is how many bytes in front of a return address SyscallBefore needs.
const SyscallCode = 7

// SyscallBefore returns the number of the system call that code, which ends behind it, makes, if
// the number is part of the instruction before: mov $nr, %eax or xor %eax, %eax; or ok false.
func SyscallBefore(code *[SyscallCode]byte) (nr int64, ok bool) {
	switch {
	case code[5] != 0x0f || code[6] != 0x05:
		return 0, false
	case code[0] == 0xb8:
		return int64(binary.LittleEndian.Uint32(code[1:])), true
	}
	return 0, code[3] == 0x31 && code[4] == 0xc0
}

// SetSyscall makes the thread one that is in a system call.
func (r *Regs) SetSyscall(nr int64) { r.OrigRax = uint64(nr) }

// SetThreadPointer sets what ThreadPointer returns.
func (r *Regs) SetThreadPointer(addr uint64) { r.FsBase = addr }

// PC returns the address of the next instruction.
func (r *Regs) PC() uint64 { return r.Rip }

// SetPC sets the address of the next instruction.
func (r *Regs) SetPC(pc uint64) { r.Rip = pc }

// SP returns the stack pointer.
func (r *Regs) SP() uint64 { return r.Rsp }

// SetSP sets the stack pointer.
func (r *Regs) SetSP(sp uint64) { r.Rsp = sp }

// trapFlag is TF of the flags register.
const trapFlag = 0x100

// TrapFlag reports whether the program itself has ordered a trap after each
// instruction.
func (r *Regs) TrapFlag() bool { return r.Eflags&trapFlag != 0 }

// SetTrapFlag sets or clears that.
func (r *Regs) SetTrapFlag(on bool) {
	r.Eflags &^= trapFlag
	if on {
		r.Eflags |= trapFlag
	}
}

// The flags that arithmetic sets. No instruction that does leaves all of them set: a result
// that is zero is not negative.
const arithmetic = 0x8d5 // CF, PF, AF, ZF, SF, OF

// Mark marks a thread that is about to make a system call. The mark is there until the thread
// has come back from the call and has computed something; no program looks for flags there.
func (r *Regs) Mark() { r.Eflags |= arithmetic }

// Marked reports whether a thread has a mark.
func (r *Regs) Marked() bool { return r.Eflags&arithmetic == arithmetic }

// FP returns the frame pointer register, whatever the program uses it for.
func (r *Regs) FP() uint64 { return r.Rbp }

// ThreadPointer returns the address that a C library keeps a thread's own data at: above
// the thread's stack, in the memory that has both, for all threads but the first.
func (r *Regs) ThreadPointer() uint64 { return r.FsBase }

// Args returns the first six integer arguments of a function that has just been
// called, by the System V calling convention.
func (r *Regs) Args() [6]uint64 {
	return [6]uint64{r.Rdi, r.Rsi, r.Rdx, r.Rcx, r.R8, r.R9}
}

// Result returns what a function that has just returned hands back, if that is an
// integer or a pointer.
func (r *Regs) Result() uint64 { return r.Rax }

// SyscallReturn returns the number of the system call the thread is leaving and
// its result as the kernel would hand it to the program, or ok false when the
// thread is not at the end of a system call.
func (r *Regs) SyscallReturn() (nr int64, result int64, ok bool) {
	if int64(r.OrigRax) < 0 {
		return 0, 0, false
	}
	return int64(r.OrigRax), int64(r.Rax), true
}

// InterruptedResult reports whether the result of a system call, as it is at a stop, says that a signal or
// a stop has cut it: the kernel's codes for the ways to make it again (include/linux/errno.h), or EINTR.
func InterruptedResult(result int64) bool {
	switch -result {
	case eRestartSys, eRestartNoIntr, eRestartNoHand, eRestartBlock, eIntr:
		return true
	}
	return false
}

const (
	eIntr          = 4
	eRestartSys    = 512
	eRestartNoIntr = 513
	eRestartNoHand = 514
	eRestartBlock  = 516
)

// HandlerContext returns the address of the struct ucontext that a signal handler was
// given, if the thread stands at the handler's first instruction. The kernel has put it
// on top of the stack, above the return address and followed by the siginfo, and has
// set the arguments to signal, siginfo and ucontext (x64_setup_rt_frame).
func (r *Regs) HandlerContext() (addr uint64, ok bool) {
	const sizeofUcontext = 304
	return r.Rdx, r.Rax == 0 && r.Rdi > 0 && r.Rdi <= 64 && r.Rdx == r.Rsp+8 && r.Rsi == r.Rdx+sizeofUcontext
}

// ContextSize is how much of a struct ucontext SetContext needs.
const ContextSize = 40 + 18*8

// SetContext sets the registers to those that a signal has interrupted
// (arch/x86/include/uapi/asm/sigcontext.h).
func (r *Regs) SetContext(b *[ContextSize]byte) {
	for i, p := range [...]*uint64{
		&r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15,
		&r.Rdi, &r.Rsi, &r.Rbp, &r.Rbx, &r.Rdx, &r.Rax, &r.Rcx, &r.Rsp, &r.Rip, &r.Eflags,
	} {
		*p = binary.LittleEndian.Uint64(b[40+8*i:])
	}
}

// SyscallArgs returns the six arguments of the system call the thread is in.
func (r *Regs) SyscallArgs() [6]uint64 {
	return [6]uint64{r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9}
}

// SetSyscallArg changes argument i of the system call that the thread is about to make.
func (r *Regs) SetSyscallArg(i int, v uint64) {
	*[...]*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9}[i] = v
}

// syscallLen is the length of the SYSCALL and INT 0x80 instructions.
const syscallLen = 2

// SyscallLength is how far a thread that has made a system call stands behind one that is
// about to make it.
const SyscallLength = syscallLen

// Code segment selectors of 64-bit and of 32-bit user code.
const (
	user64 = 0x33
	user32 = 0x23
)

// Is32Bit reports whether the thread runs 32-bit code: its system calls have other numbers.
func (r *Regs) Is32Bit() bool { return r.Cs == user32 }

// RestartSyscall moves a thread that is leaving a system call back in front of it,
// so that it makes the same call once more when it runs. It reports false, and does
// nothing, for a thread that is in neither 64-bit nor 32-bit code. A 32-bit program's way into the kernel by
// SYSENTER or SYSCALL has an INT 0x80 of the same length in front of the place that it returns to
// (arch/x86/entry/vdso/vdso32/system_call.S).
func (r *Regs) RestartSyscall() bool {
	if int64(r.OrigRax) < 0 || r.Cs != user64 && r.Cs != user32 {
		return false
	}
	r.Rip -= syscallLen
	r.Rax = r.OrigRax
	return true
}

// FinishSyscall undoes RestartSyscall on a thread that has not run since, and makes
// the call return result.
func (r *Regs) FinishSyscall(result int64) {
	r.Rip += syscallLen
	r.Rax = uint64(result)
}

// SetSyscallResult changes what the system call that the thread is leaving returns.
func (r *Regs) SetSyscallResult(result int64) { r.Rax = uint64(result) }

// AtSyscall reports whether the thread stands in front of system call nr, as
// RestartSyscall leaves it, with pc there.
func (r *Regs) AtSyscall(pc uint64, nr int64) bool { return r.Rip == pc && r.Rax == uint64(nr) }
