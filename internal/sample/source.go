package sample

import (
	"context"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptrace"
	"ptools/internal/unwind"
)

// Control is what the sampler needs of a process's controller.
type Control interface {
	// Threads returns the tids that are controlled now, in a slice that the
	// caller may keep.
	Threads() []int
	// Generation changes when the set of threads does.
	Generation() uint64
	// LookIf stops the threads together, calls visit once for each as soon as
	// it stops and lets it run again at once. Right before a thread is interrupted ready is asked whether it
	// is to be. missed counts those that were not stopped, or had not when over, asked every millisecond, returned true.
	LookIf(ctx context.Context, tids []int, ready func(tid int) bool, over func() bool, visit func(tid int, regs *ptrace.Regs)) (missed int, err error)
	// Done is closed when the process has ended or is no longer controlled.
	Done() <-chan struct{}
}

// TaskFiles reads the /proc files of one thread; *procfs.Task is one.
type TaskFiles interface {
	SchedStat() (procfs.SchedStat, error)
	Syscall() (procfs.Syscall, error)
	Stat() (procfs.Stat, error)
	Comm() (string, error)
	WaitChannel() (string, error)
	Close() error
}

// Sum asks for the sums over all threads of a process, those that have ended included;
// *procfs.TaskStats is one.
type Sum interface {
	Sum() (procfs.TaskSum, error)
	Close() error
}

// Tasks reads all threads of a process at once; *perfevent.Tasks is one.
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
	// Is32Bit reports a 32-bit program, whose system calls have other numbers.
	Is32Bit() bool
	// Stale reports that the process has another image now, or none.
	Stale() bool
	// Refresh looks for code that has been mapped since, and reports whether
	// code that was known is gone or replaced.
	Refresh() (unmapped bool)
	// Prepare does what takes time of resolving a, on any goroutine.
	Prepare(a profile.Addr)
	// ReadStack copies memory from addr upwards into p and returns how much
	// of it could be read.
	ReadStack(p []byte, addr uint64) int
	// StackAt returns the bounds of the mapping that holds sp, zeros if they
	// are not known.
	StackAt(sp uint64) (bottom, top uint64)
	// Unwind appends the program counters of a stack to dst, innermost
	// first, and returns why they end. It is called by one goroutine at a
	// time: the sampler's, or the control goroutine during a look.
	Unwind(s *Capture, dst []profile.Addr) ([]profile.Addr, unwind.End)
	// Close gives up the memory of the process. Resolving goes on working.
	Close() error
}

// Capture is a thread at one moment.
type Capture struct {
	Regs    ptrace.Regs
	Partial bool // only PC and SP are known
	PC, SP  uint64
	Base    uint64 // address of Stack[0], the red zone below SP
	Stack   []byte // copy of the stack
	// Chain is the return addresses that frame pointers led to then, nil if they are not known.
	Chain []uint64

	// Strayed is set by Unwind: it needed memory that is not in Stack, as it
	// is now and not as it was with Regs.
	Strayed bool

	// Late says that the memory of the process need not be what it was, or any more: only the copy counts.
	Late bool
	// Beyond is set by Unwind if Strayed: how many of the last levels come after the first word
	// that was not in the copy.
	Beyond int

	visit visit
}

// visit is what looking keeps of the visit in which a capture was taken.
type visit struct {
	visited time.Duration // when the thread stood
	seen    time.Duration // when the copy was complete
	unwound bool          // levels and end are set
	levels  []profile.Addr
	end     unwind.End
}

// Source is a process to sample.
type Source struct {
	PID     int
	Control Control
	// Thread opens the files of a thread.
	Thread func(tid int) (TaskFiles, error)
	// File says what a descriptor refers to, as /proc/PID/fd does. Nil, or an error: it may be a terminal.
	File func(fd uint32) (string, error)
	// Image opens the present address space.
	Image func() (Image, error)
	// CPU returns the processor time of the whole process since its start,
	// that of threads which have ended included. Nil, or an error, does
	// without.
	CPU func() (time.Duration, error)
	// Sum opens the sum over all threads. Nil, or an error, does without.
	Sum func() (Sum, error)
	// Tasks opens what reads all threads at once, and Unopened returns the files of a thread that was read so,
	// of which none is open yet. Nil, or an error, does without.
	Tasks    func() (Tasks, error)
	Unopened func(tid int) TaskFiles
}
