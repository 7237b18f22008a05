package control

import (
	"syscall"

	"ptools/internal/ptrace"
)

// hooks are what tracees call up for at stops: they know threads, and no breakpoint. Each is called on the control
// goroutine.
type hooks interface {
	// stopped is called first of all at each stop.
	stopped(t *thread, s ptrace.Stop)
	// begins is called at the first stop of a new thread.
	begins(t *thread)
	// copied is called at the first stop of a process with a copy of the memory, which it lets go.
	copied(t *thread)
	// signalled is called for a thread that is about to receive a signal, which may be taken.
	signalled(t *thread)
	// interrupted is called for a thread that our interrupt has stopped. False: it was resumed, to a stop that is due.
	interrupted(t *thread) bool
	// answers reports whether a thread that does not answer has to be waited for all the same.
	answers(t *thread) bool
	// trapDue reports whether a thread that has not stopped may have met a trap, or be on its way past one.
	trapDue(t *thread) bool
	// settles is called for a stopped thread before it is left there or resumed. False: it has left the stop meanwhile.
	settles(t *thread) bool
	// standsAlone reports that a thread is not to be resumed although it is not held, and goes on with what it stands for.
	standsAlone(t *thread) bool
	// resumes is called for a thread at a breakpoint before it runs. False: it makes a step first, which has begun.
	resumes(t *thread) bool
	// flushes is called before registers that were changed are written back.
	flushes(t *thread)
	// dropped is called for a thread that is no more traced.
	dropped(t *thread)
	// allStopped is called when every thread stands that can, and allRun right before they are resumed.
	allStopped()
	allRun()
}

// news is what tracees tell of the process, on the control goroutine.
type news interface {
	// born tells of a birth, in its event.
	born(creator *thread, child int, r role, kind ptrace.Kind)
	// execed is called in the stop of an exec, and returns the thread that goes on, or nil.
	execed(t *thread) *thread
	// groupStop tells of a group stop by its signal, and of its end by SIGCONT.
	groupStop(t *thread, sig syscall.Signal)
	// resumesAll is called when all that stand are to be resumed.
	resumesAll()
	// ended tells of the end of a thread, lost that there is nothing left to wait for.
	ended(t *thread, s ptrace.Stop)
	lost(err error)
}

// trapText is what stands in the target's text, as far as waiting for threads needs it.
type trapText interface {
	Len() int
	Version() uint64
	AppendSetBacks([]ptrace.SetBack) []ptrace.SetBack
}
