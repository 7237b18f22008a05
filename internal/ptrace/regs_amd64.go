package ptrace

import (
	"unsafe"

	"ptools/internal/machine"
)

// SavedWords is how many words the kernel saves when a thread enters it, SampledRegs how many registers a
// sample of a perf event has.
const (
	SavedWords  = 21
	SampledRegs = 20
)

// SetSaved sets the registers that the kernel saves when a thread enters it (struct
// pt_regs). They are the first ones of Regs.
func (r *Regs) SetSaved(saved *[SavedWords]uint64) {
	*(*[SavedWords]uint64)(unsafe.Pointer(r)) = *saved
}

// SetSampled sets the registers that a perf event has sampled of a thread in user code, in the
// order of the event (arch/x86/include/uapi/asm/perf_regs.h, without DS to GS). The thread
// is in no system call.
func (r *Regs) SetSampled(v *[SampledRegs]uint64) {
	r.Regs = machine.Regs{
		Rax: v[0], Rbx: v[1], Rcx: v[2], Rdx: v[3], Rsi: v[4], Rdi: v[5], Rbp: v[6], Rsp: v[7],
		Rip: v[8], Eflags: v[9], Cs: v[10], Ss: v[11], R8: v[12], R9: v[13], R10: v[14], R11: v[15],
		R12: v[16], R13: v[17], R14: v[18], R15: v[19], OrigRax: ^uint64(0),
	}
}

// SetSampled32 is SetSampled for a thread that ran 32-bit code.
func (r *Regs) SetSampled32(v *[SampledRegs]uint64) { r.SetSampled(v) }
