package pctl

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"ptools/pctl/control"
)

// Error is the error of every operation on a process. It prints as
// "pctl: grab 4242: process is traced by pid 77 (gdb)": the operation, the
// process (and the thread, as 4242/4250, where one thread is meant), the cause.
type Error struct {
	Op  string // "grab", "create", "pause", "break", …
	PID int    // 0 where there is no process yet
	TID int    // 0 where the operation is not about one thread
	Err error  // the cause; never nil
}

func (e *Error) Error() string {
	return "pctl: " + e.Subject() + ": " + e.Err.Error()
}

// Subject is the operation and what it was applied to: "grab 4242". A command
// that prints an Error under its own name puts that name before it.
func (e *Error) Subject() string {
	s := e.Op
	if e.PID != 0 {
		s += " " + strconv.Itoa(e.PID)
	}
	if e.TID != 0 {
		s += "/" + strconv.Itoa(e.TID)
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// EndError is the cause where a created process has ended before its first instruction. It satisfies ErrEnded.
type EndError struct{ End Event } // of KindUndead

func (e *EndError) Error() string {
	return string(e.End.appendEnd([]byte("process has ended before its first instruction: ")))
}

// Unwrap returns ErrEnded.
func (e *EndError) Unwrap() error { return ErrEnded }

// Causes that errors.Is finds in the errors of this package. A permission that
// is missing satisfies fs.ErrPermission, the use of something closed
// os.ErrClosed, what this platform or this package cannot do
// errors.ErrUnsupported, and the end of a context that context's error.
var (
	// ErrNoProcess: nothing runs under this pid.
	ErrNoProcess = errors.New("no such process")
	// ErrZombie: the process has ended and waits for its parent to collect
	// its status. A process of which only the first thread has ended is no
	// zombie.
	ErrZombie = errors.New("process is a zombie")
	// ErrSelf: the process, or the process of the thread, is our own.
	ErrSelf = errors.New("a process cannot grab itself")
	// ErrThread: the number names a thread that is not its process's first.
	ErrThread = errors.New("not a process but a thread")
	// ErrKernelThread: kernel threads have no user memory and no registers.
	ErrKernelThread = errors.New("kernel thread")
	// ErrTraced: another debugger or tracer holds the process; the kernel
	// allows one.
	ErrTraced = errors.New("process is traced")
	// Err32Bit: the process runs 32-bit code. Satisfies errors.ErrUnsupported. If a process
	// executes a 32-bit program while it is grabbed, this is the Err of KindExec.
	Err32Bit = control.Err32Bit
	// ErrNoProc: /proc is not mounted, or shows another PID namespace than our
	// own. Satisfies errors.ErrUnsupported.
	ErrNoProc error = unsupported("no /proc of this PID namespace")
	// ErrMachine: on this processor no process is controlled. What is read without control works. Satisfies
	// errors.ErrUnsupported.
	ErrMachine = control.ErrMachine
	// ErrLost: control of a living process was lost, for instance because it
	// executed a program that runs with another user's rights.
	ErrLost = errors.New("control lost")
	// ErrEnded: the process has ended while it was grabbed.
	ErrEnded = control.ErrEnded
	// ErrReleased: the process has been let go, by Release or by a Session's
	// Close.
	ErrReleased = control.ErrReleased
	// ErrOwnChild: a grab with Follow of a process that this program has started by other
	// means than Create. This program is to collect its exit status, which would be in the
	// way.
	ErrOwnChild = control.ErrOwnChild
	// ErrNoThread: the process has no such thread, or has it no more: the thread has ended, by itself
	// or by an exec.
	ErrNoThread = control.ErrNoThread
	// ErrStopped: StopThread of a thread that a StopThread has stopped already.
	ErrStopped = control.ErrAlone
	// ErrRuns: Step or Run of a thread that runs.
	ErrRuns = control.ErrRuns
	// ErrNotHeld: Continue of a process that is not held at a rendezvous.
	ErrNotHeld = control.ErrNotHeld
	// ErrNoUprobe: TrapUprobe was asked for and no uprobe can be had.
	ErrNoUprobe = control.ErrNoUprobe
	// ErrMidInstruction: the breakpoint would be inside an instruction. A trap there would be an operand, and change what the process does.
	ErrMidInstruction = control.ErrMidInstruction
	// ErrRestartable: the breakpoint would be inside a restartable sequence (rseq(2)),
	// which each hit would abort. Set it in front of or behind the sequence.
	ErrRestartable = control.ErrRestartable
	// ErrForeignTrap: at the place of the breakpoint is a trap that is neither ours
	// nor in the file. It is another tracer's uprobe, or a uprobe that is being
	// removed, which takes some 50 ms, or a breakpoint that another tracer left
	// behind.
	ErrForeignTrap = control.ErrForeignTrap

	// ErrOwnProbe: the breakpoint would be an int3 where the file of its text is mapped a second time, and another breakpoint
	// is a kernel uprobe at that place of the file.
	ErrOwnProbe = control.ErrOwnProbe
	// ErrShared: the breakpoint would be an int3 in memory that another process uses too
	// (clone(2), CLONE_VM without CLONE_THREAD). That process cannot be traced, and the int3
	// would kill it.
	ErrShared = control.ErrShared
	// ErrSharedText: the breakpoint would be an int3 in memory that is mapped MAP_SHARED. It
	// would be written to the file, and kill other processes that map it.
	ErrSharedText = control.ErrSharedText
	// ErrMappedAgain: since the breakpoint was set the program has mapped its text again, where there is no int3. Hits there were
	// not counted. KindBreakRefused has it at the end.
	ErrMappedAgain = control.ErrMappedAgain
	// ErrLate: the breakpoint was set late in an object, because the thread that loaded it blocked the signals of uprobes.
	ErrLate = control.ErrLate
	// ErrMappedUnprobed: since the breakpoint was set, as a uprobe, the program has mapped its text MAP_SHARED, or so that it can be
	// written. The kernel plants no uprobes there, and hits there were not counted. KindBreakRefused has it at the end.
	ErrMappedUnprobed = control.ErrMappedUnprobed
	// ErrNotText: the address of the breakpoint is in memory that is not executable.
	ErrNotText = control.ErrNotText
	// ErrOnControl: a Handler or a function given to Pause made a request
	// that would wait for itself.
	ErrOnControl = control.ErrOnControl
	// ErrOptions: the process is under control in this Session already, and the grab
	// asked for options that control does not have. Grab it without them, and ask for
	// points with Process.StopAt; or grab it in another order.
	ErrOptions = errors.New("process is under control already, without these options")
	// ErrReadOnly: the operation needs control, and the grab was ReadOnly.
	ErrReadOnly = errors.New("process is grabbed read-only")
	// ErrResumed: something that can be changed only while a thread stands
	// still was to be changed later.
	ErrResumed = errors.New("the thread runs again")
	// ErrUnstoppable: a thread has no registers to read, because it sleeps
	// uninterruptibly or has ended.
	ErrUnstoppable = control.ErrNoStop
	// ErrCut: a stack is known only in part; the error says why.
	ErrCut = errors.New("stack cut short")
)

// unsupported is a cause that satisfies errors.ErrUnsupported.
type unsupported string

func (u unsupported) Error() string        { return string(u) }
func (u unsupported) Is(target error) bool { return target == errors.ErrUnsupported }

// Refusal says why a process cannot be grabbed and what its user can do about
// it. It is found by errors.As in the errors of Grab.
type Refusal struct {
	Kind   error  // one of the causes above, or fs.ErrPermission
	Reason string // one clause: "process is traced by pid 77 (gdb)"
	Advice string // what can be done, as an imperative; empty where nothing can
}

func (r *Refusal) Error() string {
	if r.Advice == "" {
		return r.Reason
	}
	return r.Reason + " (" + r.Advice + ")"
}

// Unwrap returns the kind of the refusal.
func (r *Refusal) Unwrap() error { return r.Kind }

// refuse makes a Refusal whose reason is formatted.
func refuse(kind error, advice, format string, args ...any) *Refusal {
	return &Refusal{Kind: kind, Reason: fmt.Sprintf(format, args...), Advice: advice}
}

// denied is a Refusal for want of a permission.
func denied(advice, format string, args ...any) *Refusal {
	return refuse(fs.ErrPermission, advice, format, args...)
}
