// Package tracee has the threads of a process, or of several, traced by one OS thread, a [Tracer]: the [Group] of
// each process seizes them, waits for their wait statuses, stops and resumes them, and detaches them. It knows no
// breakpoint, no symbol and no client. What concerns those goes up through two interfaces of its owner: [Hooks] at
// the stops of single threads, [News] of the process.
//
// # The tracer thread
//
// All of a Group but its [Requests] and its [Roster] belongs to one goroutine, the control goroutine, which is locked
// to the OS thread that traces. It makes every ptrace(2) and wait4(2) call. Other goroutines hand it closures, and
// ring the doorbell that brings it out of wait4 (request.go). Its life is [Tracer.Loop].
//
// # Stops
//
// Every wait status is dispatched by its kind (loop.go): what it means for the process
// is dealt with at once, and then the thread is left in the stop if it is held,
// or resumed. What has to be done to a thread is said by a pure state machine
// (machine.go). [Stopper.StopAll] is the one way to make all threads stand. Its calls nest.
//
// A thread that sleeps uninterruptibly, as the parent does in vfork(2), answers no
// interrupt; it runs no code of its own either. It is parked: it is not waited for, and
// it stops before it runs again (parked.go).
//
// # State
//
// How far control has come is a [Phase]. A thread has a [State], a [Position] as to traps of its owner, and something
// that it [Awaits]. Each is changed in one place, which refuses what cannot be: nothing is done then, and
// the trace has the refusal. What the kernel says is never refused. Registers are read once a stop, and written back
// before the thread runs if they were changed ([Thread.Known]).
//
// # Re-entry
//
// Wait statuses are also dispatched while another one is being handled: what needs every thread to stand, or one
// thread to make a step, waits itself ([Waiter.Until], [Stopper.Await], collect, and with them StopAll, ResumeAll and
// Resume). The rules for what comes after such a wait:
//
//   - Control may be over: [Phase.Over] is looked at first.
//   - A thread may have ended or executed a program: its record counts while [Group.Has] it.
//   - A thread may have stopped and run again: what was read of it counts until Known is RegsUnread.
//   - The thread whose wait status is being handled is busy, and is settled only at the end of that.
//   - Requests wait: only the loop serves them.
//
// # Trace
//
// A [Trace] records each wait status and each ptrace request with the states of the thread
// before and after (trace.go). It is off by default: then an entry is a comparison with nil. It
// is a ring in memory that becomes text when control ends: writing meanwhile would
// move the races that it is read for. Lines of a trace are a scenario (testdata/*.trace).
package tracee
