package perfevent

import "time"

// TickerOptions say how a [Ticker] samples.
type TickerOptions struct {
	// Period is the time between two samples on one processor. It must be positive.
	Period time.Duration
	// Stack is how many bytes of a stack are copied, at most [MaxStack].
	Stack int
	// Kernel has the call chain of the kernel in each sample.
	Kernel bool
	// Follow has the children of wanted processes sampled too, and theirs, and tells of what processes map.
	Follow Follow
}

// Follow says whether and how children of wanted processes come to be wanted.
type Follow uint8

const (
	// FollowNone: they do not.
	FollowNone Follow = iota
	// FollowAuto: the kernel's program takes a child into the filter while fork(2) makes it, before its first
	// instruction. Where that cannot be had it is as FollowRecords.
	FollowAuto
	// FollowRecords: the reader of the records calls Want when it reads of a birth. What the child did before
	// is not sampled.
	FollowRecords
)

// An End is the end of a thread of a followed process.
type End struct {
	PID, TID int
	Start    time.Duration // when the process was made, CLOCK_MONOTONIC: with PID its identity
	CPU      time.Duration // of the thread
	Last     bool          // no thread of the process runs any more, unless it is ending too
	Comm     string        // the process's name then: its first thread's
}

// Mapped is the memory of a [Map] record: executable, and new in its process.
type Mapped struct {
	Addr, Len, Off uint64
	Major, Minor   uint32
	Inode          uint64 // 0: no file
	Path           string
}

// MaxStack is the most that a sample has of a stack: its length is a number of 16
// bits, and the registers and the chains take their part.
const MaxStack = 62000

// UserRegs is how many registers a sample has, by the numbers of
// arch/x86/include/uapi/asm/perf_regs.h less the segments that the kernel refuses.
const UserRegs = 20

// RecordKind says what a Record tells.
type RecordKind uint8

const (
	// Tick is a sample of a thread of a wanted process.
	Tick RecordKind = iota
	// Fork is the birth of a thread, or of a process: then PID is not Parent.
	Fork
	// Exit is the end of a thread.
	Exit
	// Exec is the moment at which a process has another program.
	Exec
	// Name is a thread's new name.
	Name
	// Map is executable memory that a process has mapped. Only with Follow.
	Map
	// Ending is a sample of a thread of a wanted process that has given up its memory: it is ending. Only with Follow.
	Ending
)

var recordKinds = [...]string{Tick: "tick", Fork: "fork", Exit: "exit", Exec: "exec", Name: "name", Map: "map", Ending: "ending"}

func (k RecordKind) String() string { return recordKinds[k] }

// A Record is what a Ticker has seen. Numbers of threads are those of our PID namespace; 0
// is a thread that has none there.
type Record struct {
	Kind     RecordKind
	PID, TID int
	Parent   int           // of a Fork: the process that made it
	Time     time.Duration // CLOCK_MONOTONIC
	Comm     string        // of an Exec or a Name
	Mapped   Mapped        // of a Map

	// Of a Tick. The slices are valid until the next record is read.
	Regs     [UserRegs]uint64 // AX BX CX DX SI DI BP SP IP FLAGS CS SS R8 … R15
	InKernel bool             // the thread was in the kernel; Regs are those it entered it with
	Stack    []byte           // from the stack pointer upwards
	// Chain is the return addresses that the kernel has found by following the frame pointers
	// from BP on, in whatever memory: from each frame the word above it, and on to where the
	// frame itself points. It ends where that cannot be read, or after
	// kernel.perf_event_max_stack addresses.
	Chain []uint64
	// KernelChain is the addresses in the kernel, innermost first, if they were asked for.
	KernelChain []uint64
}
