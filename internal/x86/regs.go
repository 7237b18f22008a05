package x86

import "unsafe"

// Regs are the user registers of a thread, in the layout of Linux's struct
// user_regs_struct. On other machines they are never read.
type Regs struct {
	R15, R14, R13, R12, Rbp, Rbx, R11, R10 uint64
	R9, R8, Rax, Rcx, Rdx, Rsi, Rdi        uint64

	// OrigRax is the number of the system call the thread is in, or all ones.
	OrigRax uint64

	Rip, Cs, Eflags, Rsp, Ss       uint64
	FsBase, GsBase, Ds, Es, Fs, Gs uint64
}

// Register numbers in instruction encoding.
const (
	rax = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
)

// gprAt is where in Regs the general registers are, in the order in which instructions number them.
var gprAt = [16]uintptr{
	unsafe.Offsetof(Regs{}.Rax), unsafe.Offsetof(Regs{}.Rcx), unsafe.Offsetof(Regs{}.Rdx), unsafe.Offsetof(Regs{}.Rbx),
	unsafe.Offsetof(Regs{}.Rsp), unsafe.Offsetof(Regs{}.Rbp), unsafe.Offsetof(Regs{}.Rsi), unsafe.Offsetof(Regs{}.Rdi),
	unsafe.Offsetof(Regs{}.R8), unsafe.Offsetof(Regs{}.R9), unsafe.Offsetof(Regs{}.R10), unsafe.Offsetof(Regs{}.R11),
	unsafe.Offsetof(Regs{}.R12), unsafe.Offsetof(Regs{}.R13), unsafe.Offsetof(Regs{}.R14), unsafe.Offsetof(Regs{}.R15),
}

// gpr returns general register n, numbered as instructions do.
func (r *Regs) gpr(n uint8) *uint64 { return (*uint64)(unsafe.Add(unsafe.Pointer(r), gprAt[n&15])) }

// PC returns the address of the next instruction.
func (r *Regs) PC() uint64 { return r.Rip }

// SetPC sets the address of the next instruction.
func (r *Regs) SetPC(pc uint64) { r.Rip = pc }

// SP returns the stack pointer.
func (r *Regs) SP() uint64 { return r.Rsp }

// SetSP sets the stack pointer.
func (r *Regs) SetSP(sp uint64) { r.Rsp = sp }

// FP returns the frame pointer register, whatever the program uses it for.
func (r *Regs) FP() uint64 { return r.Rbp }

// SetFP sets the frame pointer register.
func (r *Regs) SetFP(fp uint64) { r.Rbp = fp }

// ThreadPointer returns the address at which a C library keeps a thread's own data. For all
// threads except the first that is above the thread's stack, in the same mapping.
func (r *Regs) ThreadPointer() uint64 { return r.FsBase }

// SetThreadPointer sets what ThreadPointer returns.
func (r *Regs) SetThreadPointer(addr uint64) { r.FsBase = addr }

// TrapFlag reports whether the program itself has asked for a trap after each
// instruction.
func (r *Regs) TrapFlag() bool { return r.Eflags&flagTF != 0 }

// SetTrapFlag sets or clears the trap flag.
func (r *Regs) SetTrapFlag(on bool) {
	r.Eflags &^= flagTF
	if on {
		r.Eflags |= flagTF
	}
}

// Args returns the first six integer arguments of a function that has just been
// called, by the System V calling convention.
func (r *Regs) Args() [6]uint64 {
	return [6]uint64{r.Rdi, r.Rsi, r.Rdx, r.Rcx, r.R8, r.R9}
}

// Result returns the result of a function that has just returned, if that is an
// integer or a pointer.
func (r *Regs) Result() uint64 { return r.Rax }

// user32 is the code segment selector of 32-bit user code, user64 that of 64-bit.
const (
	user32 = 0x23
	user64 = 0x33
)

// inLDT is set in selectors of segments that the process has made (modify_ldt(2)).
const inLDT = 1 << 2

// InSegment reports whether the program counter counts from the beginning of a segment that the process has made, as in
// 16-bit code.
func (r *Regs) InSegment() bool { return r.Cs&inLDT != 0 }

// Is32Bit reports whether the thread runs 32-bit code: its system calls have other numbers.
func (r *Regs) Is32Bit() bool { return r.Cs == user32 }

// Is64Bit reports whether the thread runs 64-bit code.
func (r *Regs) Is64Bit() bool { return r.Cs == user64 }
