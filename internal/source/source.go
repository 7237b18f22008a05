// Package source opens what sampling reads of a process: its threads, the files of one, its address space. It unwinds stacks, and
// names addresses. It does not know what is sampled, when, or what a sample counts.
//
// A [Process] has functions that open the parts, and an [Image] is the address space from one exec to the next. Tests have
// Processes that do not exist.
package source

import (
	"context"
	"syscall"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptrace"
	"ptools/internal/unwind"
)

// Control is the part of a process's controller that the sampler needs.
type Control interface {
	// Threads returns the tids that are controlled now, in a slice that the
	// caller may keep.
	Threads() []int
	// Generation changes when the set of threads does.
	Generation() uint64
	// GroupStop returns the signal of the group stop that the process is in, or 0.
	GroupStop() syscall.Signal
	// LookIf stops the threads together. It calls visit once for each as soon as it has stopped, and resumes it at once.
	// Right before a thread is interrupted, ready is called, and says whether to interrupt it. over is called every
	// millisecond; when it returns true, LookIf waits no longer. missed counts the threads that were not interrupted, or
	// had not stopped by then.
	LookIf(ctx context.Context, tids []int, ready func(tid int) bool, over func() bool, visit func(tid int, regs *ptrace.Regs)) (missed int, err error)
	// Done is closed when the process has ended or is no longer controlled.
	Done() <-chan struct{}
}

// TaskFiles reads the /proc files of one thread; *procfs.Task implements it.
type TaskFiles interface {
	SchedStat() (procfs.SchedStat, error)
	Syscall() (procfs.Syscall, error)
	Stat() (procfs.Stat, error)
	Comm() (string, error)
	WaitChannel() (string, error)
	Turn() (procfs.Turn, error)
	Close() error
}

// Sum reads the sums over all threads of a process, ended ones included;
// *procfs.TaskStats implements it.
type Sum interface {
	Sum() (procfs.TaskSum, error)
	Close() error
}

// Tasks reads all threads of a process at once; *perfevent.Tasks implements it.
type Tasks interface {
	Read() ([]perfevent.TaskRecord, error)
	One(tid int) (*perfevent.TaskRecord, error)
	Close() error
}

// Image is the address space of one image of a process, from exec to exec.
// ReadStack may be called from any goroutine.
type Image interface {
	profile.Resolver
	// Executable is the path of the program.
	Executable() string
	// Is32Bit reports whether the program is a 32-bit one, whose system calls have other numbers.
	Is32Bit() bool
	// Stale reports whether the process has another image now, or none.
	Stale() bool
	// Refresh looks for newly mapped code.
	Refresh()
	// Mapped takes over a mapping of code that the kernel has reported. It reports whether that was not known.
	Mapped(m *perfevent.Mapped) (news bool)
	// HasCode reports whether a mapping of code is known. Its path does not matter.
	HasCode(m *procfs.Map) bool
	// Prepare does the part of resolving a that takes time, on any goroutine.
	Prepare(a profile.Addr)
	// ReadStack copies memory from addr upwards into p, and returns how much
	// could be read.
	ReadStack(p []byte, addr uint64) int
	// StackAt returns the bounds of the mapping that holds sp; zeros if they
	// are not known.
	StackAt(sp uint64) (bottom, top uint64)
	// Unwind appends the program counters of a stack to dst, innermost
	// first, and returns why they end. It is called by one goroutine at a
	// time: the sampler's, or the control goroutine during a look.
	Unwind(s *Capture, dst []profile.Addr) ([]profile.Addr, unwind.End)
	// Close closes the memory of the process. Resolve still works after it.
	Close() error
}

// Capture is a thread at one moment.
type Capture struct {
	Regs    ptrace.Regs
	Partial bool // only PC, SP and Argument are known
	PC, SP  uint64
	// Argument is the first one of the system call; 0: not known.
	Argument uint64
	Base     uint64 // address of Stack[0], the red zone below SP
	Stack    []byte // copy of the stack
	// Chain is the return addresses that the frame pointers led to at that moment; nil if they are not known.
	Chain []uint64

	// Pages is other memory of that moment; nil: none.
	Pages *perfevent.Pages

	// Needed is set by Unwind: the pages of the memory that was not in Stack. It is valid until the next Unwind.
	Needed []uint64
	// Strayed is set by Unwind: it has read memory that is neither in Stack nor in Pages. That
	// memory is as it is now, not as it was at the moment of Regs.
	Strayed bool

	// Late says that the memory of the process may have changed or be gone: only the copy counts.
	Late bool
	// Beyond is set by Unwind if Strayed. It is how many of the last levels come after the
	// first word that was not in the copy.
	Beyond int
}

// RedZone is what a function may use below its stack pointer (System V ABI,
// 3.2.2).
const RedZone = 128

// RanOut reports whether an unwinding may have ended at code that is not known yet.
func RanOut(end unwind.End) bool { return end == unwind.NotCode || end == unwind.NoRule }

// LookedUp returns the address of the code of a level.
func LookedUp(a profile.Addr) uint64 {
	if a.Kind == profile.Return {
		return a.PC - 1
	}
	return a.PC
}

// Stacks reads the memory of a process for looks, on the control goroutine, while a thread stands still.
type Stacks interface {
	ReadAt(p []byte, addr int64) (int, error)
	Stale() bool
	// CodeAt returns what is mapped at an address now, without its path. It is not ok where it would take long to find out.
	CodeAt(addr uint64) (m procfs.Map, ok bool)
	Close() error
}

// Process is a process to sample.
type Process struct {
	PID     int
	Control Control
	// Thread opens the files of a thread.
	Thread func(tid int) (TaskFiles, error)
	// File returns what a descriptor refers to, as /proc/PID/fd does. Nil, or an error: the descriptor may be
	// a terminal.
	File func(fd uint32) (string, error)
	// NeverWaits reports whether a descriptor is in non-blocking mode. Nil: none is.
	NeverWaits func(fd uint32) bool
	// Image opens the present address space.
	Image func() (Image, error)
	// Stacks opens the memory of the present address space, for looks. Nil: running threads are stopped by rounds.
	Stacks func() (Stacks, error)
	// CPU returns the processor time of the whole process since its start,
	// ended threads included. Nil, or an error: sampling does without.
	CPU func() (time.Duration, error)
	// Sum opens the sum over all threads. Nil, or an error: sampling does without.
	Sum func() (Sum, error)
	// Tasks opens a reader of all threads at once. Unopened returns the files of a thread that was read so;
	// none of them is open yet. Nil, or an error: sampling does without.
	Tasks    func() (Tasks, error)
	Unopened func(tid int) TaskFiles
}

// Error is why one process could not be sampled.
type Error struct {
	PID int
	Err error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
