package unwind

import (
	"ptools/internal/a64"
	"ptools/internal/ptrace"
)

// load sets the registers to those of a stopped thread.
func (a *activation) load(r *ptrace.Regs, partial bool) {
	copy(a.regs[:], r.X[:])
	a.regs[regSP], a.regs[regPC] = r.Sp, r.Pc
	a.known = 1<<columns - 1
	a.tls, a.goReg = 0, r.X[regG] // g is in no other place where it could be found
	if partial {
		a.known = 1<<regSP | 1<<regPC
		a.goReg = 0
	}
}

// Offsets from the stack pointer with which a signal handler returns to its trampoline, in the kernel's struct rt_sigframe: 128
// bytes of siginfo, then the struct ucontext with the registers (arch/arm64/include/uapi/asm/sigcontext.h). This is ABI:
// rt_sigreturn(2) reads it back.
const (
	frameX0 = 128 + 184
	frameSP = frameX0 + 8*31
	framePC = frameSP + 8
)

// leaveSignal restores the registers that a signal interrupted.
func (a *activation) leaveSignal() End {
	sp := a.regs[regSP]
	var regs [columns]uint64
	for i := range uint64(columns) {
		v, ok := a.mem.word(sp + frameX0 + 8*i) // x0 to x30, sp, pc
		if !ok {
			return Unreadable
		}
		regs[i] = v
	}
	a.regs, a.known = regs, 1<<columns-1
	return 0
}

// restorer is the trampoline that a signal handler returns to: mov x8, #139; svc #0. The kernel's vDSO has it; its call frame
// information does not restore the registers (arch/arm64/kernel/vdso/sigreturn.S).
const restorer = "\x68\x11\x80\xd2\x01\x00\x00\xd4"

// toReturn sets the program counter to a return address, which may be signed. LR has the caller's own return address only if
// the caller saved it: what it has now is the address that is returned to.
func (a *activation) toReturn(addr uint64) {
	a.regs[regPC] = a64.Strip(addr)
	a.known |= 1 << regPC
	a.forget(regLR)
}
