package perfevent

import (
	"unsafe"

	"ptools/internal/ptrace"
)

// Registers returns the registers that were read at the end of a call.
func (v *CallValues) Registers() *ptrace.Regs {
	w := &v.Result
	var r ptrace.Regs
	r.R15, r.R14, r.R13, r.R12, r.Rbp, r.Rbx, r.R11, r.R10 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
	r.R9, r.R8, r.Rax, r.Rcx, r.Rdx, r.Rsi, r.Rdi = w[8], w[9], w[10], w[11], w[12], w[13], w[14]
	r.OrigRax, r.Rip, r.Rsp = ^uint64(0), w[ResultIP], w[ResultSP]
	return &r
}

// contextOf returns the registers as programs see them (struct pt_regs): struct user_regs_struct begins with that.
func contextOf(r *ptrace.Regs) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(r)), contextSize)
}

// contextSize is the size of struct pt_regs.
const contextSize = 8 * 21
