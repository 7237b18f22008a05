// Package bkpt keeps the breakpoints of one address space: which addresses have
// one, what stood there before, and how a thread that has run into one gets
// past it. It makes no system calls of its own and knows no threads; it reads
// and writes a [Memory] and computes on registers.
//
// # The text
//
// While the target runs, the table is armed and each breakpoint's trap stands in
// the text; at a rendezvous it is disarmed and the text is the program's own.
// In between, [Table.Overlay] hides the traps from all that is read through us, and
// [Table.Write] lets clients write around them. A thread may run into a trap
// just before it is lifted: until [Table.Settle] the table remembers what it has
// lifted, so that such a thread is moved back rather than killed.
//
// # Getting past
//
// Lifting a trap to step over it would let other threads run past the
// breakpoint unseen. So the trap stays, and each breakpoint has an [x86.Plan]: its
// instruction is emulated, or a copy of it runs in a slot of [Scratch]. What can only
// run in its own place is stepped there with all other threads stopped.
//
// An emulated instruction that would fault is not emulated but run, so that the
// fault is the processor's own; a fault in a copy is moved to the original
// address.
package bkpt
