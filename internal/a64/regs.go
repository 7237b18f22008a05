package a64

// Regs are the user registers of a thread. The first 34 words are in the layout of Linux's struct user_pt_regs
// (arch/arm64/include/uapi/asm/ptrace.h). On other machines they are never read.
type Regs struct {
	X  [31]uint64
	Sp uint64
	Pc uint64
	// Pstate has the flags, and BTYPE: how the thread has come to the present instruction.
	Pstate uint64

	// OrigX0 is the first argument of the system call that the thread is in, where the kernel shows it. ptrace(2) does not.
	OrigX0 uint64
	// SyscallNr is the number of the system call the thread is in, or all ones.
	SyscallNr uint64
	// Tpidr is the thread pointer, tpidr_el0.
	Tpidr uint64
}

// Bits of Pstate.
const (
	pstate32Bit    = 1 << 4 // 32-bit code
	pstateMode     = 0xf    // 0: user code
	pstateStepping = 1 << 21
)

// Numbers of registers with a use of their own.
const (
	FP = 29
	LR = 30
)

// PC returns the address of the next instruction.
func (r *Regs) PC() uint64 { return r.Pc }

// SetPC sets the address of the next instruction.
func (r *Regs) SetPC(pc uint64) { r.Pc = pc }

// SP returns the stack pointer.
func (r *Regs) SP() uint64 { return r.Sp }

// SetSP sets the stack pointer.
func (r *Regs) SetSP(sp uint64) { r.Sp = sp }

// FP returns the frame pointer register, whatever the program uses it for.
func (r *Regs) FP() uint64 { return r.X[FP] }

// SetFP sets the frame pointer register.
func (r *Regs) SetFP(fp uint64) { r.X[FP] = fp }

// ThreadPointer returns the address at which a C library keeps a thread's own data. For all
// threads except the first that is above the thread's stack, in the same mapping.
func (r *Regs) ThreadPointer() uint64 { return r.Tpidr }

// SetThreadPointer sets what ThreadPointer returns.
func (r *Regs) SetThreadPointer(addr uint64) { r.Tpidr = addr }

// TrapFlag reports whether the program itself has asked for a trap after each instruction. It cannot.
func (r *Regs) TrapFlag() bool { return false }

// SetTrapFlag sets or clears the bit that a tracer's single step leaves in the flags.
func (r *Regs) SetTrapFlag(on bool) {
	r.Pstate &^= pstateStepping
	if on {
		r.Pstate |= pstateStepping
	}
}

// Args returns the first six integer arguments of a function that has just been
// called, by the procedure call standard. A function has eight in registers.
func (r *Regs) Args() [6]uint64 { return [6]uint64(r.X[:6]) }

// Result returns the result of a function that has just returned, if that is an
// integer or a pointer.
func (r *Regs) Result() uint64 { return r.X[0] }

// Is32Bit reports whether the thread runs 32-bit code: its system calls have other numbers.
func (r *Regs) Is32Bit() bool { return r.Pstate&pstate32Bit != 0 }

// Set32Bit makes Is32Bit true.
func (r *Regs) Set32Bit() { r.Pstate |= pstate32Bit }

// InSegment reports whether the program counter counts from the beginning of a segment. It never does.
func (r *Regs) InSegment() bool { return false }

// Is64Bit reports whether the thread runs 64-bit code.
func (r *Regs) Is64Bit() bool { return r.Pstate&(pstate32Bit|pstateMode) == 0 }
