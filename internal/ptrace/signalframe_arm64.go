package ptrace

import "encoding/binary"

// The kernel puts a struct rt_sigframe on the stack for a signal handler: 128 bytes of siginfo, then the struct ucontext. The
// registers are in its struct sigcontext (arch/arm64/include/uapi/asm/sigcontext.h): x0 to x30, sp, pc, pstate.
const (
	sizeofSiginfo = 128
	contextRegs   = 184
)

// HandlerContext returns the address of the struct ucontext that a signal handler was
// given, if the thread is at the handler's first instruction. The kernel has set the arguments to signal, siginfo and ucontext
// (setup_return). siginfo is set only for handlers that ask for it; others are not recognized.
func (r *Regs) HandlerContext() (addr uint64, ok bool) {
	return r.X[2], r.X[0] > 0 && r.X[0] <= 64 && r.X[1] == r.Sp && r.X[2] == r.Sp+sizeofSiginfo
}

// ContextSize is how much of a struct ucontext SetContext needs.
const ContextSize = contextRegs + 34*8

// SetContext sets the registers to those that a signal has interrupted.
func (r *Regs) SetContext(b *[ContextSize]byte) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[contextRegs+8*i:]) }
	for i := range r.X {
		r.X[i] = word(i)
	}
	r.Sp, r.Pc, r.Pstate = word(31), word(32), word(33)
}
