// Package control holds one process under control: its threads, breakpoints, run-time
// linker and rendezvous.
//
// # Rooms
//
// A [Controller] has one goroutine, which is locked to an OS thread of its own and traces its process. Package
// internal/tracee says how threads are waited for, stopped and resumed. This package says what happens at a stop:
//
//   - traps: breakpoints, and threads at them (traps.go, stophooks.go)
//   - image: what is set in the program of the last exec, which package internal/program reads (image.go)
//   - rendezvous: the points where the target is held (rendezvous.go)
//   - following: the processes that the target makes (follow.go)
//   - parting: release, and the end of the process (release.go)
//
// Tracees call these through stopHooks and lifecycle (news.go). The Controller composes them. All of it belongs to the
// control goroutine and has no locks.
//
// The control goroutine never waits for a client: events go to a queue that does not block (package notify). A closure
// or a handler runs on it; a request from there that would have to wait for it returns [ErrOnControl]. What a
// handler asks for is done when the handler has returned.
//
// hit, nextPoint, addBreak and writeAt wait for wait statuses too: the rules of internal/tracee, Re-entry, hold after them.
// An exec may be reported during such a wait. An address belongs to the program that it was found in; addBreak and writeAt
// refuse it for another one (TestBreakAcrossExec, TestWriteAcrossExec). An exec may also have happened, and be still to be
// reported: what is read by the number of the process is the new program's then (TestBreakBeforeExecReport).
//
// # Breakpoints
//
// A hit stops the thread that hit; its handler runs on the control goroutine with the
// thread in front of the instruction. Then the thread is moved off by computing what
// the instruction does, by a copy of it elsewhere, or, for the very few that can be
// neither, by a step in place with all threads stopped (step.go). At no moment can
// another thread run past the breakpoint unseen. While the process stands still, no
// int3 is in its text. A kernel uprobe (probes.go, uprobehit.go) stays there; its thread
// stops behind the instruction, and needs no moving off.
//
// A hit is reported once for each execution of the instruction. An execution that a
// signal puts off is remembered (mark) and not reported again, and so is a system call
// that the kernel is sure to make again; one that a handler's SA_RESTART decides about
// is an execution of its own.
//
// # Trace
//
// A [Trace] records each wait status and each ptrace request. It is off by default. The tests print it when they fail,
// and fail if it has a change of state that was refused; PTOOLS_TRACE=1 and pgrab --debug print it to standard error.
//
// # What the target notices
//
// Signals arrive once, with their siginfo. An interrupted system call is made again,
// also those that return EINTR at any interruption (internal/tracee/restart.go). What is left:
//
//   - SIGCHLD and other signals that a program ignores are not sent to it by the
//     kernel, except when it is traced. Such a signal wakes one thread, and if another
//     one takes it first, a call of the kind that is not restarted returns EINTR in the
//     first without a stop in which that could be mended.
//   - The kernel resets the disposition of SIGTRAP when a thread that blocks or ignores
//     it runs into an int3: a breakpoint there costs a program its own SIGTRAP handler.
//   - A relative timeout that the kernel does not keep begins again when its call is
//     moved back, up to twice its length in all.
//
// # A host's own children
//
// Stops of a tracee are reported to any waiter of the tracer's process that waits for
// that child, whatever it asked for. A program that controls a child of its own must
// not wait for it at the same time; afterwards its exit status is there to be
// collected.
package control
