package sample

import (
	"container/list"
	"math"
	"math/bits"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptrace"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// knowledge is what may be concluded from an unchanged schedstat line.
type knowledge uint8

const (
	// moving: nothing. The thread ran when its stack was taken.
	moving knowledge = iota
	// disturbed: it was blocked and we have stopped it. The stop alone
	// changes the line, within bounds.
	disturbed
	// still: it was blocked when its stack was taken, and an unchanged line
	// means an unchanged stack.
	still
)

// verdict is what a round has found out about a thread.
type verdict uint8

const (
	keep    verdict = iota // its stack is what it was
	taken                  // its stack is new
	wanted                 // it has to be stopped
	skipped                // it has ended
	running                // it runs; ticks show where
)

// thread is one thread of a sampled process.
type thread struct {
	p      *process
	tid    int
	files  source.TaskFiles
	born   uint64 // with tid its identity, if it was read with all others; otherwise its files are its identity
	id     profile.ThreadID
	looked bool   // a round has looked at it
	works  bool   // it is a worker of the kernel that is not controlled
	seen   uint64 // number of samples for which the thread was read
	place  *list.Element
	moved  int64 // the round in which it got its stack

	heat     heat
	view     view
	blocked  blocked
	usage    usage
	turn     turn
	wary     wariness
	debt     debt            // with ticks
	guess    estimate        // without
	shown    profile.StackID // where the last tick met it, if a client wants to see samples
	lastRegs lastRegs
}

// heat is the processor time of a thread of late (looker).
type heat struct {
	time time.Duration
	used uint64 // usage.used when that was reckoned
}

// view is the stack that a thread is shown in.
type view struct {
	stack   profile.StackID
	cell    profile.Cell
	counted bool  // stack is set
	celled  bool  // cell is set, for that stack
	present bool  // it has a sample there in each round
	rounds  int64 // number of completed rounds when that began
	since   time.Duration
	end     unwind.End
}

// blocked is where a thread was blocked when its stack was taken, and what follows from that.
type blocked struct {
	know    knowledge
	sched   procfs.SchedStat // when the stack was taken
	call    procfs.Syscall   // where the thread was blocked then
	where   string           // the function of the kernel instead, if call is concealed
	state   byte             // its state if this round saw it blocked, else 0
	inTrace bool             // the last look found it in a tracing stop
	bottom  uint64           // the mapping that holds the stack, if known
	top     uint64
}

// usage is the processor time of a thread.
type usage struct {
	used     uint64 // ns since the sampling began or the thread was born, as last read
	rebase   bool   // the next reading does not count: the one before it is not known
	inexact  bool   // used is not complete
	missing  unmet  // of used
	switched bool   // it has been put on a processor since the round before
	ran      int64  // ns that it has run, and that are still to be counted as wall time
	ready    int64  // ns that it has waited for a processor, and that are still to be counted
	now      procfs.SchedStat
}

// turn is what one round finds out about a thread.
type turn struct {
	verdict  verdict
	ran      bool           // it was put on a processor after its stop
	recheck  bool           // it waits, and is looked at again right before the others are stopped
	waits    bool           // it still waited at that time
	nowIn    procfs.Syscall // the call that it waited in
	visited  int            // index+1 of its capture in this round's look
	sighting sighting       // of this round's stop
	burst    time.Duration  // of the sighting
}

// lastRegs are the registers when the stack was taken.
type lastRegs struct {
	regs    ptrace.Regs // unless partial
	partial bool
	pc, sp  uint64
}

// ownStop bounds what our own stop of a blocked thread adds to its schedstat.
// The thread wakes, stops, and goes back into its system call.
const (
	ownStopRun    = 300_000 // ns
	ownStopSlices = 4
)

// explained reports whether our last stop explains all changes since. Then the
// thread is in the same call with the same arguments, and has hardly run.
func (t *thread) explained(call procfs.Syscall, now procfs.SchedStat) bool {
	return call == t.blocked.call &&
		now.Run-t.blocked.sched.Run < ownStopRun &&
		now.Slices-t.blocked.sched.Slices <= ownStopSlices
}

// halted reports whether another tracer keeps a thread in a stop. A thread may also be in one for the moment that the
// tracer takes to handle it. A halted thread has not moved since the round before.
func (t *thread) halted(state byte) bool {
	return state == 't' && t.blocked.inTrace && t.usage.now == t.blocked.sched
}

// renameDue reports whether the name should be read again. It is read at the
// first rounds, when programs name their threads, and then more and more
// rarely.
func (t *thread) renameDue() bool { return bits.OnesCount64(t.seen) == 1 }

// readStack reads s.Stack from memory into buf, up to the end of the mapping if
// that is known. Beyond the end is, for most threads, a guard page and the stack
// of another thread.
func (t *thread) readStack(m source.Image, s *source.Capture, buf []byte) {
	s.Base = s.SP - source.RedZone
	buf = buf[:min(uint64(len(buf)), t.stackAbove(s.SP))]
	s.Stack = buf[:m.ReadStack(buf, s.Base)]
}

// stackAbove returns how many bytes there are from the red zone below sp to the end of the mapping, as far as that is known.
func (t *thread) stackAbove(sp uint64) uint64 {
	if sp >= t.blocked.bottom && sp < t.blocked.top {
		return t.blocked.top - (sp - source.RedZone)
	}
	return math.MaxUint64
}

// learnStack finds out where the stack that sp points into ends.
func (t *thread) learnStack(m source.Image, sp uint64) {
	if sp < t.blocked.bottom || sp >= t.blocked.top {
		t.blocked.bottom, t.blocked.top = m.StackAt(sp)
	}
}
