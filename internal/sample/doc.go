// Package sample takes samples of the threads of controlled processes.
//
// # A round
//
// At each tick of an absolute schedule every thread gets one sample. The cost
// for the target depends on what the thread has done since the last sample:
//
//   - It has stayed blocked: its schedstat line (time on a processor, time
//     waiting for one, times put on one) is unchanged, so its stack is too.
//     That costs one pread, and nothing of the target is touched. Even the
//     pread is spared where the kernel may be asked how often all threads of
//     a process together were put on a processor (CAP_NET_ADMIN): if the
//     threads that have moved lately explain the sum, no other has moved.
//     Where BPF programs are permitted, the first look at a process of more than some hundred threads
//     reads all of them at once. No file is ever opened of a thread that only sleeps (crowd.go).
//   - It has run and is blocked again: the kernel shows the stack pointer and
//     the program counter of a blocked thread, and its stack is read from
//     outside. Such a passive look is accepted if the schedstat line is the
//     same before and after.
//   - Its passive look ends where the unwinder needs a register that the kernel
//     does not show: without timers it is stopped once, unless its system call is one that
//     an interrupt can spoil.
//   - It runs, and timers of the processors are used: they have met it, or will, and the sample of
//     the round goes to those ticks. No thread is stopped (ticks.go).
//   - It runs, and there are no timers: looks at random moments stop the thread that has a processor at that moment
//     (looks.go), and the sample of the round goes to them.
//   - The same in trees, with Blame, and where the kernel does not show when threads ran: it is stopped, together with
//     the others that run, for its registers and one copy of its stack. Everything else happens when it
//     runs again. A thread that stops at the end of a system call which takes less
//     time than the interrupt is looked at a second time (shortcalls.go).
//
// At high rates, rounds in which threads only run are put off for up to four
// milliseconds (coalesce.go).
//
// The kernel updates the time on a processor in schedstat only at scheduler
// ticks and switches: a running thread shows the same line for up to 4 ms (with
// CONFIG_HZ=250). So an unchanged line means an unchanged stack only if the
// thread was blocked when its stack was taken.
//
// # Values
//
// Each sample counts one, and the time since the previous round as wall time. Processor time goes to the places where
// timers or looks have met the thread (ticks.go), or where stops have met it running (estimate.go). In the end it is reconciled
// with the kernel's figures for the threads and the process (reconcile.go).
//
// # Goroutines
//
// A [Sampler] belongs to the goroutine that runs it. Another goroutine looks up
// names, which requires reading files (namer.go). The visits of a look run on the
// control goroutine of the target, while LookIf waits for them.
package sample
