package ptrace

import (
	"unsafe"

	"ptools/internal/x86"
)

// Regs are the registers of a stopped thread. Its own methods are about what the kernel does
// with registers: system calls, signal frames, samples. Package x86 has the methods about the
// processor.
type Regs struct{ x86.Regs }

// SetSaved sets the registers that the kernel saves when a thread enters it (struct
// pt_regs). They are the first ones of Regs.
func (r *Regs) SetSaved(saved *[21]uint64) {
	*(*[21]uint64)(unsafe.Pointer(r)) = *saved
}

// SetSampled sets the registers that a perf event has sampled of a thread in user code, in the
// order of the event (arch/x86/include/uapi/asm/perf_regs.h, without DS to GS). The thread
// is in no system call.
func (r *Regs) SetSampled(v *[20]uint64) {
	r.Regs = x86.Regs{
		Rax: v[0], Rbx: v[1], Rcx: v[2], Rdx: v[3], Rsi: v[4], Rdi: v[5], Rbp: v[6], Rsp: v[7],
		Rip: v[8], Eflags: v[9], Cs: v[10], Ss: v[11], R8: v[12], R9: v[13], R10: v[14], R11: v[15],
		R12: v[16], R13: v[17], R14: v[18], R15: v[19], OrigRax: ^uint64(0),
	}
}
