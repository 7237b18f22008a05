package perfevent

import (
	"time"

	"ptools/internal/ptrace"
)

// TickerOptions say how a [Ticker] samples.
type TickerOptions struct {
	// Period is the time between two samples on one processor. It must be positive.
	Period time.Duration
	// Stack is how many bytes of a stack are copied, at most [MaxStack].
	Stack int
	// Kernel adds the kernel's call chain to each sample.
	Kernel bool
	// Follow makes the descendants of wanted processes sampled too, and adds records of what all processes map.
	Follow Follow
}

// Follow says whether and how children of wanted processes become wanted.
type Follow uint8

const (
	// FollowNone: they do not.
	FollowNone Follow = iota
	// FollowAuto: a BPF program puts a child into the filter while fork(2) makes it, before its first
	// instruction. Where that is not possible it is the same as FollowRecords.
	FollowAuto
	// FollowRecords: the reader of the records calls Want when it reads of a birth. What the child did before
	// is not sampled.
	FollowRecords
)

// An End is the end of a thread of a followed process.
type End struct {
	PID, TID int
	Start    time.Duration // when the process was made, by Now; PID and Start identify the process
	CPU      time.Duration // processor time of the thread
	Last     bool          // no thread of the process runs any more, except threads that are ending too
	Comm     string        // the process's name at that moment: that of its first thread
}

// MaxStack is how many bytes of a stack a sample can have. The length of a sample is a
// number of 16 bits, and the registers and the chains take their part.
const MaxStack = 62000

// UserRegs is how many registers a sample has.
const UserRegs = ptrace.SampledRegs

// RecordKind is the kind of a Record.
type RecordKind uint8

const (
	// Tick is a sample of a thread of a wanted process.
	Tick RecordKind = iota
	// Fork is the birth of a thread, or of a process if PID is not Parent.
	Fork
	// Exit is the end of a thread.
	Exit
	// Exec is an execve(2): from then on the process has another program.
	Exec
	// Name is a thread's new name.
	Name
	// Map is executable memory that a process has mapped. Without Follow it must be a wanted one.
	Map
	// NoUser is a sample of a thread of a wanted process that runs no user code: it is ending, and has given up its memory, or
	// it works for the process in the kernel (io_uring, vhost).
	NoUser
)

var recordKinds = [...]string{Tick: "tick", Fork: "fork", Exit: "exit", Exec: "exec", Name: "name", Map: "map", NoUser: "no user code"}

func (k RecordKind) String() string { return recordKinds[k] }

// A Record is what a Ticker has seen. Numbers of threads are those of our PID namespace; 0
// is a thread that has none there.
type Record struct {
	Kind     RecordKind
	PID, TID int
	Parent   int           // Fork: the process that has made the thread
	Time     time.Duration // by Now
	Comm     string        // Exec, Name
	Mapped   Mapped        // Map

	// The rest is for a Tick. The slices are valid until the next record is read.
	Regs     [UserRegs]uint64 // in the order of the kernel (ptrace.Regs.SetSampled)
	InKernel bool             // the thread was in the kernel; Regs are those it entered the kernel with
	Is32Bit  bool             // it ran 32-bit code, which any process may do; Stack and Chain are empty
	Stack    []byte           // from the stack pointer upwards
	// Chain has the return addresses that the kernel has found by following the frame pointers
	// from BP on, in whatever memory. It takes the word above each frame, and follows the word
	// of the frame itself. It ends where memory cannot be read, or after
	// kernel.perf_event_max_stack addresses.
	Chain []uint64
	// Pages is what was copied of the pages that Watch has named for the thread; nil: nothing.
	Pages *Pages
	// KernelChain has the addresses in the kernel, innermost first, if they were asked for.
	KernelChain []uint64
}
