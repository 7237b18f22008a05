// Package bkpt keeps the breakpoints of one address space: which addresses have
// one, which bytes were there before, and how a thread that has hit one gets past
// it. It makes no system calls of its own and knows no threads. It reads and
// writes a [Memory], and computes on registers.
//
// # The text
//
// While the target runs, the table is armed, and each breakpoint's trap is in the
// text. At a rendezvous the table is disarmed, and the text is the program's own.
// While the table is armed, [Table.Overlay] hides the traps from clients that read
// the text, and [Table.Write] lets clients write around them. A thread may hit a trap
// just before it is lifted. So the table remembers lifted traps until [Table.Settle]:
// such a thread is moved back rather than killed.
//
// # Getting past
//
// If a trap were lifted to step over it, other threads could run past the
// breakpoint unseen. So the trap stays, and each breakpoint has an [machine.Plan]: its
// instruction is emulated, or a copy of it runs in a slot of [Scratch]. An
// instruction that can only run in its own place is stepped there, with all other
// threads stopped.
//
// An instruction that would fault is not emulated: the thread runs it, so that the
// processor itself makes the fault. A fault in a copy is moved to the original
// address.
package bkpt
