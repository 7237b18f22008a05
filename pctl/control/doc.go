// Package control holds one process under control: its threads, breakpoints, run-time linker and rendezvous.
//
// # Parts
//
// A [Controller] has one goroutine, the control goroutine. It is locked to an OS thread of its own and traces
// its process. Package internal/tracee says how threads are waited for, stopped and resumed. This package says
// what happens at a stop:
//
//   - traps: breakpoints, and threads at them (traps.go, stophooks.go)
//   - image: what is set in the program of the last exec, which package internal/program reads (image.go)
//   - rendezvous: the points where the target is held (rendezvous.go)
//   - following: the processes that the target makes (follow.go)
//   - parting: release, and the end of the process (release.go)
//
// Package internal/tracee calls these parts through stopHooks and lifecycle (news.go). The Controller composes
// them. They belong to the control goroutine and have no locks, except for what any goroutine may read
// (killRisk, tally).
//
// The control goroutine never waits for a client. Events go to a queue that does not block (package notify).
// Closures and handlers run on the control goroutine: a request from there that would have to wait for it
// returns [ErrOnControl]. A rendezvous that a handler asks for begins when the handlers of that hit have
// returned.
//
// The methods hit, nextPoint, addBreak and writeAt wait for wait statuses too, so the rules of internal/tracee,
// Re-entry, hold after them. An exec may be reported during such a wait. An address belongs to the program in
// which it was found: addBreak and writeAt refuse it in any other program (TestBreakAcrossExec, TestWriteAcrossExec).
// An exec may also have happened and not be reported yet. What is read by the number of the process then belongs to the
// new program (TestBreakBeforeExecReport).
//
// # Breakpoints
//
// A hit stops the thread that hit. Its handler runs on the control goroutine while the thread is stopped in
// front of the instruction. Then the thread gets past the trap (step.go). For most instructions, control
// computes what the instruction does, or the thread executes a copy elsewhere. The very few that allow neither
// are executed in place, with all other threads stopped. At no moment can another thread run past the
// breakpoint unseen. While all threads are stopped, no int3 is in the text. A kernel uprobe (probes.go,
// uprobehit.go) stays in the text. Its thread stops behind the instruction, and has nothing to get past.
//
// A hit is reported once for each execution of the instruction. If a signal puts the execution off, the hit is
// remembered (mark) and not reported again. The same holds for a system call that the kernel is sure to make
// again. A system call that is made again because of a handler's SA_RESTART is another execution.
//
// # Trace
//
// A [Trace] records each wait status and each ptrace request. It is off by default. The tests print it when
// they fail. They also fail if it has a change of state that was refused. PTOOLS_TRACE=1 and pgrab --debug
// print it to standard error.
//
// # What the target notices
//
// Signals arrive once, with their siginfo. An interrupted system call is made again, even a call that returns
// EINTR at any interruption (internal/tracee/restart.go). These effects remain:
//
//   - The kernel does not send a program SIGCHLD and other signals that the program ignores, except while it
//     is traced. Such a signal wakes one thread. If another thread takes it first, a call of the kind that is not
//     restarted returns EINTR in the first thread. That thread has no stop in which this could be mended.
//   - When a thread that blocks or ignores SIGTRAP hits an int3, the kernel resets the disposition of SIGTRAP.
//     So a breakpoint there costs a program its own SIGTRAP handler.
//   - A relative timeout that the kernel does not keep begins again when its call is moved back. The call
//     takes up to twice its length in all.
//
// # A host's own children
//
// Any thread of this program that waits for a child gets the stops of that child, if it is a tracee, whatever
// the thread asked for. So a program that controls a child of its own must not wait for it at the same time.
// When control has ended, the child's exit status is there to be collected.
package control
