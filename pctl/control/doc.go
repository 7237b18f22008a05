// Package control holds one process under control: its threads, breakpoints, run-time
// linker and rendezvous.
//
// # The control goroutine
//
// A [Controller] has one goroutine, locked to an OS thread of its own, that makes
// every ptrace(2) and wait4(2) call for its process and owns everything it knows about
// it without locks. Other goroutines hand it closures (request.go) and ring the
// doorbell that brings it out of wait4. It never waits for them: events go to a queue
// that does not block (package notify). A closure or a handler that runs on it and
// makes a request which would wait for it is refused with [ErrOnControl].
//
// # Rooms
//
// The tracees are the threads that the control goroutine traces: they are seized, waited for, stopped, resumed and
// detached (tracees.go). They know no breakpoint. What happens at one is the matter of traps (traps.go), the program of
// the last exec that of image (image.go), the places where the target is held that of rendezvous, and its release or end
// that of parting (release.go). Tracees call these through hooks and news (hooks.go). The Controller puts them together.
//
// # Stops
//
// Every wait status is dispatched by its kind (loop.go): what it means for the process
// is dealt with at once, and then the thread is left in the stop if it is held,
// or resumed. What has to be done to a thread is said by a pure state machine
// (machine.go). stopAll is the one way to make all threads stand: for
// Pause, a rendezvous, a release, an instruction that can be stepped
// only in place. Its calls nest.
//
// A thread that sleeps uninterruptibly, as the parent does in vfork(2), answers no
// interrupt; it runs no code of its own either. It is parked: it is not waited for, and
// it stops before it runs again (parked.go).
//
// # State
//
// How far control has come is a phase (phase.go). A thread has a state, a position as to breakpoints, and something that
// is awaited of it (machine.go). Each is changed in one place, which refuses what cannot be: nothing is done then, and
// the trace has the refusal. What the kernel says is never refused. A test fails if its trace has a refusal.
//
// # Re-entry
//
// Reports are also dispatched while another one is being handled: what needs everybody to stand, or one
// thread to make a step, waits for reports itself (until, await and collect, and with them stopAll, resumeAll, hit,
// nextPoint and resume). The rules for what comes after such a wait:
//
//   - Control may be over: phase.over is looked at first.
//   - A thread may have ended or executed a program: its record counts while tracees.has it.
//   - A thread may have stopped and run again: what was read of it counts until t.known is regsUnread.
//   - The thread whose report is being handled is busy, and is settled only at the end of that.
//   - Requests wait: only the loop serves them. What a handler asks for is done when the handler has returned.
//
// # Breakpoints
//
// A hit stops the thread that hit; its handler runs on the control goroutine with the
// thread in front of the instruction. Then the thread is moved off by computing what
// the instruction does, by a copy of it elsewhere, or, for the very few that can be
// neither, by a step in place with everybody stopped (step.go). At no moment can
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
// A [Trace] records each wait status and each ptrace request with the states of the thread
// before and after (trace.go). It is off by default: then an entry is a comparison with nil. It
// is a ring in memory that becomes text when control ends: writing meanwhile would
// move the races that it is read for. The tests print it when they fail; PTOOLS_TRACE=1 and
// pgrab --debug print it to standard error. Lines of a trace are a scenario (testdata/*.trace).
//
// # What the target notices
//
// Signals arrive once, with their siginfo. An interrupted system call is made again,
// also those that return EINTR at any interruption (restart.go). What is left:
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
