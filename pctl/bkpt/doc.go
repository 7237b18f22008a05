// Package bkpt keeps the breakpoints of one address space: which addresses have
// one, what stood there before, and how a thread that has run into one gets
// past it. It makes no system calls of its own and knows no threads; it reads
// and writes a [Memory] and computes on registers.
//
// # The text
//
// While the target runs, the table is armed and each breakpoint's trap stands in
// the text; at a rendezvous it is disarmed and the text is the program's own.
// In between, [Table.Overlay] hides the traps from whoever reads through us, and
// [Table.Write] lets clients write around them. A thread may run into a trap
// just before it is lifted: until [Table.Settle] the table remembers what it has
// lifted, so that such a thread is moved back rather than killed.
//
// # Getting past
//
// Lifting a trap to step over it would let other threads run past the
// breakpoint unseen. So the trap stays, and each breakpoint has a [Plan]:
//
//   - emulate: the effect of the instruction on registers, flags and memory is
//     computed, and the thread continues behind it;
//   - displace: the thread runs a copy of the instruction in a scratch slot. Most
//     copies end in a jump back and need no single step (Copy.Direct); branches,
//     calls and system calls are stepped, and what they got wrong by running
//     elsewhere is put right;
//   - step all: what can only run in its own place (far branches, mov ss, xbegin,
//     the program's own int3) is stepped there with everybody else stopped.
//
// An emulated instruction that would fault is not emulated but run, so that the
// fault is the processor's own; a fault in a copy is moved to the original
// address.
//
// # Limits
//
// The x87 instruction pointer that fnstenv and fxsave store is the address of
// the copy if the last x87 instruction ran displaced. Memory protection keys are
// not looked at when an instruction is emulated.
package bkpt
