// Package tracee traces the threads of one process, or of several, from one OS thread, the [Tracer]. Each process has a
// [Group], which seizes its threads, waits for their wait statuses, stops and resumes them, and detaches them. The
// package knows no breakpoint, no symbol and no client. It calls its owner for those, through two interfaces: [Hooks]
// at the stops of single threads, and [News] about the process.
//
// # The tracer thread
//
// A Group belongs to one goroutine, the control goroutine, except for its [Requests] and its [Roster]. The control
// goroutine is locked to the OS thread that traces, and makes every ptrace(2) and wait4(2) call. Other goroutines hand
// it closures, and ring the doorbell that interrupts its wait4 (request.go). The control goroutine runs [Tracer.Loop].
//
// # Stops
//
// Every wait status is dispatched by its kind (loop.go). What it means for the process is handled at once. Then the
// thread stays in the stop if it is held, and is resumed otherwise. A pure state machine (machine.go) says what has to
// be done to a thread. [Stopper.StopAll] is the one way to stop all threads. Its calls nest.
//
// A thread that sleeps uninterruptibly, as the parent does in vfork(2), does not react to PTRACE_INTERRUPT. It runs no
// code of its own either. Such a thread is parked: it is not waited for, and it stops before it runs again (parked.go).
//
// # State
//
// Control of a process goes through phases ([Phase]). A thread has a [State], a [Position] relative to the owner's
// traps, and something that it [Awaits]. Each is changed in one place. That place refuses impossible changes: nothing
// is done then, and the trace records the refusal. What the kernel says is never refused. Registers are read once per
// stop. They are written back before the thread runs, if they were changed ([Thread.Known]).
//
// # Re-entry
//
// Wait statuses are also dispatched while another one is being handled. The reason: code that needs every thread
// stopped, or one thread to make a step, waits itself ([Waiter.Until], [Stopper.Await], collect, and through them
// StopAll, ResumeAll and Resume). The code after such a wait follows these rules:
//
//   - Control may be over: check [Phase.Over] first.
//   - A thread may have ended or executed a program: its record is valid while [Group.Has] is true of it.
//   - A thread may have stopped and run again: what was read of it is valid until Known is RegsUnread.
//   - The thread whose wait status is being handled is busy. It is settled only when the handling ends.
//   - Requests wait: only the loop serves them.
//
// # Trace
//
// A [Trace] records each wait status and each ptrace request, with the states of the thread
// before and after (trace.go). It is off by default: then an entry costs a comparison with nil. The trace
// is a ring in memory. It becomes text when control ends, because writing earlier would
// shift the races that the trace is read for. Lines of a trace are a scenario (testdata/*.trace).
package tracee
