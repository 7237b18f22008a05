package tracee

import (
	"syscall"

	"ptools/internal/ptrace"
)

// Hooks are what Group call up for at stops: they know threads, and no breakpoint. Each is called on the control
// goroutine.
type Hooks interface {
	// Above returns what is kept with a new thread.
	Above() any
	// Stopped is called first of all at each stop.
	Stopped(t *Thread, s ptrace.Stop)
	// Begins is called at the first stop of a new thread.
	Begins(t *Thread)
	// Copied is called at the first stop of a process with a copy of the memory, which it lets go, or hands over.
	Copied(t *Thread)
	// Begot reports whether a process that another one has made has its memory from here.
	Begot(pid int) bool
	// Strayed is called for a process that was made and is not traced.
	Strayed(pid int)
	// Signalled is called for a thread that is about to receive a signal, which may be taken.
	Signalled(t *Thread)
	// Interrupted is called for a thread that our interrupt has stopped. False: it was resumed, to a stop that is due.
	Interrupted(t *Thread) bool
	// Answers reports whether a thread that does not answer has to be waited for all the same.
	Answers(t *Thread) bool
	// TrapDue reports whether a thread that has not stopped may have met a trap, or be on its way past one.
	TrapDue(t *Thread) bool
	// Settles is called for a stopped thread before it is left there or resumed. False: it has left the stop meanwhile.
	Settles(t *Thread) bool
	// StandsAlone reports that a thread is not to be resumed although it is not held, and goes on with what it stands for.
	StandsAlone(t *Thread) bool
	// Resumes is called for a thread at a breakpoint before it runs. False: it makes a step first, which has begun.
	Resumes(t *Thread) bool
	// Flushes is called before registers that were changed are written back.
	Flushes(t *Thread)
	// Dropped is called for a thread that is no more traced.
	Dropped(t *Thread)
	// AllStopped is called when every thread stands that can, and AllRun right before they are resumed.
	AllStopped()
	AllRun()
}

// News is what Group tell of the process, on the control goroutine.
type News interface {
	// Born tells of a birth, in its event.
	Born(creator *Thread, child int, r Role, kind ptrace.Kind)
	// Shares tells of a thread of another process that shares the memory, when it is known.
	Shares(tid int)
	// Execed is called in the stop of an exec, and returns the thread that goes on, or nil.
	Execed(t *Thread) *Thread
	// GroupStop tells of a group stop by its signal, and of its end by SIGCONT.
	GroupStop(t *Thread, sig syscall.Signal)
	// ResumesAll is called when all that stand are to be resumed.
	ResumesAll()
	// Ended tells of the end of a thread, lost that there is nothing left to wait for.
	Ended(t *Thread, s ptrace.Stop)
	Lost(err error)
	// LetGo lets the process go, where the control goroutine ends before its time.
	LetGo()
	// Concluded is called when control is over, once. wait, unless nil, returns when the kernel has let go of threads
	// that were left to it. last says that the control goroutine has nothing else to do.
	Concluded(last bool, wait func())
}

// TrapText is what stands in the target's text, as far as waiting for threads needs it.
type TrapText interface {
	Len() int
	Version() uint64
	AppendSetBacks([]ptrace.SetBack) []ptrace.SetBack
}
