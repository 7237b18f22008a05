package unwind

import (
	"bytes"

	"ptools/internal/ptrace"
)

// load sets the registers to those of a stopped thread.
func (a *activation) load(r *ptrace.Regs, partial bool) {
	a.regs = [columns]uint64{
		regRAX: r.Rax, regRDX: r.Rdx, regRCX: r.Rcx, regRBX: r.Rbx,
		regRSI: r.Rsi, regRDI: r.Rdi, regRBP: r.Rbp, regRSP: r.Rsp,
		regR8: r.R8, regR9: r.R9, regR10: r.R10, regR11: r.R11,
		regR12: r.R12, regR13: r.R13, regR14: r.R14, regR15: r.R15,
		regRIP: r.Rip,
	}
	a.known = 1<<columns - 1
	a.tls, a.goReg = r.FsBase, r.R14
	if partial {
		if a.known = 1<<regRSP | 1<<regRIP; r.Rdi != 0 {
			a.known |= 1 << regRDI // where vfork(2) has its return address
		}
		a.tls, a.goReg = 0, 0
	}
}

// sigcontext are the offsets of the registers from the stack pointer with which a
// signal handler returns to its trampoline, in the kernel's struct rt_sigframe
// (arch/x86/include/asm/sigframe.h): uc_flags, uc_link and uc_stack, 40 bytes, then
// struct sigcontext_64. This is ABI: rt_sigreturn(2) reads it back.
var sigcontext = [columns]uint64{
	regR8: 40, regR9: 48, regR10: 56, regR11: 64,
	regR12: 72, regR13: 80, regR14: 88, regR15: 96,
	regRDI: 104, regRSI: 112, regRBP: 120, regRBX: 128,
	regRDX: 136, regRAX: 144, regRCX: 152, regRSP: 160, regRIP: 168,
}

// leaveSignal restores the registers that a signal interrupted.
func (a *activation) leaveSignal() End {
	sp := a.regs[regRSP]
	var regs [columns]uint64
	for i, off := range sigcontext {
		v, ok := a.mem.word(sp + off)
		if !ok {
			return Unreadable
		}
		regs[i] = v
	}
	a.regs = regs
	a.known = 1<<columns - 1
	return 0
}

// Bytes of the trampolines that C libraries and the Go runtime give the kernel as
// SA_RESTORER: mov $15,%rax (or %eax); syscall.
const (
	restorer64 = "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
	restorer32 = "\xb8\x0f\x00\x00\x00\x0f\x05"
)

// maxRestorer is the length of the longest of them.
const maxRestorer = len(restorer64)

// restorerLength returns the length of the signal trampoline that code begins with, or 0.
func restorerLength(code []byte) int {
	for _, r := range [...]string{restorer64, restorer32} {
		if bytes.HasPrefix(code, []byte(r)) {
			return len(r)
		}
	}
	return 0
}

// inSigreturn reports whether a thread at pc, behind a system call instruction, has made the call: the kernel's
// entry has put pc into rcx.
func (r *registers) inSigreturn(pc uint64) bool {
	rcx, ok := r.register(regRCX)
	return ok && rcx == pc
}
