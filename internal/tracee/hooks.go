package tracee

import (
	"syscall"

	"ptools/internal/ptrace"
)

// Hooks are the calls of a Group to its owner at stops of threads. A Group knows threads, and no breakpoint. Each hook is
// called on the control goroutine.
type Hooks interface {
	// Above returns the owner's data for a new thread ([Thread.Above]).
	Above() any
	// Stopped is called at each stop, before any other hook.
	Stopped(t *Thread, s ptrace.Stop)
	// Begins is called at the first stop of a new thread.
	Begins(t *Thread)
	// Copied is called at the first stop of a process with a copy of the memory. It detaches the process, or hands it over.
	Copied(t *Thread)
	// Begot reports whether a new process has its memory from this process.
	Begot(pid int) bool
	// Strayed is called for a process that was made and is not traced.
	Strayed(pid int)
	// Signalled is called for a thread in a signal-delivery stop. It may take the signal ([Group.TakeSignal]).
	Signalled(t *Thread)
	// Interrupted is called for a thread that our PTRACE_INTERRUPT has stopped. False: it was resumed, to a stop that is
	// due.
	Interrupted(t *Thread) bool
	// Answers reports whether a thread has to be waited for even where it does not react to the interrupt.
	Answers(t *Thread) bool
	// TrapDue reports whether a thread that has not stopped may have hit a trap, or be on its way past one.
	TrapDue(t *Thread) bool
	// Settles is called for a stopped thread before it is left stopped or resumed. False: it has left the stop meanwhile.
	Settles(t *Thread) bool
	// StandsAlone reports that a thread is to stay stopped although it is not held. It continues what the thread is
	// stopped for.
	StandsAlone(t *Thread) bool
	// Resumes is called for a thread at a breakpoint before it runs. False: a single step has begun, which comes first.
	Resumes(t *Thread) bool
	// Flushes is called before registers that were changed are written back. False: they are not written back now.
	Flushes(t *Thread) bool
	// Dropped is called for a thread that is no more traced.
	Dropped(t *Thread)
	// AllStopped is called when every thread is stopped that can be.
	AllStopped()
	// AllRun is called right before those threads are resumed.
	AllRun()
}

// News are the calls of a Group to its owner about the process. They are made on the control goroutine.
type News interface {
	// Born reports a birth, in the creator's event stop.
	Born(creator *Thread, child int, r Role, kind ptrace.Kind)
	// Shares reports a thread of another process that shares the memory, when it is found.
	Shares(tid int)
	// Execed is called in the stop of an exec. It returns the thread that continues, or nil.
	Execed(t *Thread) *Thread
	// GroupStop reports a group stop by its signal, and its end by SIGCONT.
	GroupStop(t *Thread, sig syscall.Signal)
	// ResumesAll is called when all stopped threads are to be resumed.
	ResumesAll()
	// Ended reports the end of a thread.
	Ended(t *Thread, s ptrace.Stop)
	// Lost reports that there is nothing left to wait for.
	Lost(err error)
	// LetGo releases the process. It is called where the control goroutine ends before its time.
	LetGo()
	// Concluded is called once, when control is over. wait, unless nil, returns when the kernel has detached the threads
	// that were left to it. last says that the control goroutine has nothing else to do.
	Concluded(last bool, wait func())
}

// TrapText is the part of the breakpoint table that waiting for threads needs.
type TrapText interface {
	Len() int
	Version() uint64
	AppendSetBacks([]ptrace.SetBack) []ptrace.SetBack
}
