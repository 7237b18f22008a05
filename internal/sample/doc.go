// Package sample takes samples of the threads of controlled processes.
//
// # A round
//
// At each tick of an absolute schedule every thread gets one sample. What that
// costs the target depends on what the thread has done since the last one:
//
//   - It has stayed blocked: its schedstat line (time on a processor, time
//     waiting for one, times put on one) is what it was, so its stack is too.
//     One pread, nothing of the target is touched. Not even that is needed
//     where the kernel may be asked, of a process, how often all its threads
//     together were put on a processor (CAP_NET_ADMIN): if those that have
//     moved lately explain the sum, no other has.
//     A process of more than some hundred threads has all of them read at once at the first look, where
//     BPF programs are permitted; of a thread that only sleeps no file is ever opened (crowd.go).
//   - It has run and is blocked again: the kernel shows the stack pointer and
//     the program counter of a blocked thread, and its stack is read from
//     outside. Such a passive look is accepted if the schedstat line is the
//     same before and after.
//   - Its passive look ends where the unwinder needs a register that the kernel
//     does not show: without timers it is stopped once, unless its system call is one that
//     an interrupt can spoil.
//   - It runs, and timers of the processors are used: they have met it, or will, and what the round
//     has to tell of it goes to those ticks. No thread is stopped (ticks.go).
//   - It runs, and there are no timers: it is stopped, together with the others that run, for its
//     registers and one copy of its stack. Everything else happens when it
//     runs again. One that stops at the end of a system call which takes less
//     time than the interrupt is looked at a second time (shortcalls.go).
//
// At high rates, rounds in which nothing happens but that threads run are put off for up
// to four milliseconds (coalesce.go).
//
// The time on a processor in schedstat is brought up to date only at scheduler
// ticks and switches: a running thread shows the same line for up to 4 ms (with
// CONFIG_HZ=250). An unchanged line therefore means an unchanged stack only if
// the thread was blocked when its stack was taken.
//
// # Values
//
// Each sample counts one, and as wall time what has passed since the previous round. Processor time goes to where timers have
// met the thread (ticks.go), or to where stops have met it running (estimate.go), and is reconciled in the end
// with what the kernel says that the threads and the process have used (reconcile.go).
//
// # Goroutines
//
// A [Sampler] belongs to the goroutine that runs it. Names, for which files are read,
// are looked up on another one (namer.go). The visits of a look run on the control
// goroutine of the target, while Look waits for them.
package sample
