package pctl

import (
	"ptools/internal/machine"
	"ptools/internal/ptrace"
)

// kernel is a copy of r as ptrace(2) has it.
func (r *Registers) kernel() *ptrace.Regs { return &ptrace.Regs{Regs: machine.Regs(*r)} }

// machine is r as the processor has it.
func (r *Registers) machine() *machine.Regs { return (*machine.Regs)(r) }

// PC returns the address of the next instruction.
func (r *Registers) PC() uint64 { return r.machine().PC() }

// SetPC sets the address of the next instruction.
func (r *Registers) SetPC(pc uint64) { r.machine().SetPC(pc) }

// SP returns the stack pointer.
func (r *Registers) SP() uint64 { return r.machine().SP() }

// SetSP sets the stack pointer.
func (r *Registers) SetSP(sp uint64) { r.machine().SetSP(sp) }

// FP returns the frame pointer register, whatever the program uses it for.
func (r *Registers) FP() uint64 { return r.machine().FP() }

// ThreadPointer returns the address at which a C library keeps a thread's own data. For
// all threads but the first it is above the thread's stack, in the same memory.
func (r *Registers) ThreadPointer() uint64 { return r.machine().ThreadPointer() }

// Args returns the first six integer arguments of a function that has just been
// called, by the System V calling convention.
func (r *Registers) Args() [6]uint64 { return r.machine().Args() }

// Result returns the result of a function that has just returned, if it is an
// integer or a pointer.
func (r *Registers) Result() uint64 { return r.machine().Result() }

// Syscall returns the number and the arguments of the system call that the thread is
// in; ok is false if it is in none.
func (r *Registers) Syscall() (nr int64, args [6]uint64, ok bool) {
	k := r.kernel()
	nr, _, ok = k.SyscallReturn()
	return nr, k.SyscallArgs(), ok
}
