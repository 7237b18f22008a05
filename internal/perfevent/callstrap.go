package perfevent

import (
	"errors"
	"fmt"
	"io"

	"ptools/internal/ptrace"
)

// Where the kernel runs no BPF programs at uprobes for us, threads are stopped at traps, and the same programs run in this process: see [OpenTrapped].

// ErrChildrenTrapped says why calls of children are not counted.
var ErrChildrenTrapped = fmt.Errorf("children are followed by uprobes: %w", errors.ErrUnsupported)

// A TrapHit is a thread that stands at a trap.
type TrapHit struct {
	PID, TID int
	Addr     uint64
	Regs     *ptrace.Regs // before the instruction
	Memory   io.ReaderAt  // without traps
}

// A Planter plants traps in the present program of one process.
type Planter interface {
	// Plant plants traps at addresses that have none of this Planter. From then on hit is called for each thread that comes to one, by one goroutine,
	// which does not wait for that which calls Plant. It returns why some cannot be had.
	Plant(addrs []uint64, hit func(*TrapHit)) map[uint64]error
	// Lift takes traps away. When it returns hit is not called for them any more.
	Lift(addrs []uint64)
	// Gone reports whether traps have gone with their text.
	Gone() bool
	// Executed reports whether the process has executed another program. Its traps have gone with the one before.
	Executed() bool
	// Close is called once, when all traps are lifted.
	Close() error
}
