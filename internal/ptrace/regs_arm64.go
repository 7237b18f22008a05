package ptrace

import (
	"unsafe"

	"ptools/internal/machine"
)

// SavedWords is how many words the kernel saves when a thread enters it, SampledRegs how many registers a
// sample of a perf event has.
const (
	SavedWords  = 36
	SampledRegs = 33
)

// noSyscall is the number of the system call of a thread that is in none.
const noSyscall = ^uint64(0)

// SetSaved sets the registers that the kernel saves when a thread enters it (struct
// pt_regs): x0 to x30, sp, pc, pstate, the first argument of the system call, and its number, of 32 bits.
func (r *Regs) SetSaved(saved *[SavedWords]uint64) {
	*(*[SavedWords]uint64)(unsafe.Pointer(r)) = *saved
	r.SyscallNr = uint64(int64(int32(saved[SavedWords-1])))
}

// SetSampled sets the registers that a perf event has sampled of a thread in user code, in the
// order of the event (arch/arm64/include/uapi/asm/perf_regs.h). The thread is in no system call.
func (r *Regs) SetSampled(v *[SampledRegs]uint64) {
	r.Regs = machine.Regs{X: [31]uint64(v[:31]), Sp: v[31], Pc: v[32], SyscallNr: noSyscall}
}

// SetSampled32 is SetSampled for a thread that ran 32-bit code.
func (r *Regs) SetSampled32(v *[SampledRegs]uint64) {
	r.SetSampled(v)
	r.Set32Bit() // the event does not sample the processor's state
}
