package ptrace

import "encoding/binary"

// HandlerContext returns the address of the struct ucontext that a signal handler was
// given, if the thread is at the handler's first instruction. The kernel has put it
// on top of the stack, above the return address and followed by the siginfo. It has set
// the arguments to signal, siginfo and ucontext (x64_setup_rt_frame).
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
