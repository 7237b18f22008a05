package source

import (
	"context"
	"errors"
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// watched is a process that is not controlled: everything about it is read from outside. Its threads
// are those in /proc; ticks report new ones.
type watched struct {
	pid  int
	done <-chan struct{}
}

// Threads implements Control. A process that has ended has none.
func (w watched) Threads() []int {
	tids, _ := procfs.Tasks(w.pid, nil)
	return tids
}

// Generation implements Control.
func (w watched) Generation() uint64 { return 0 }

// GroupStop is not asked for: whose process is only watched is in no tracing stop of ours.
func (w watched) GroupStop() syscall.Signal { return 0 }

// IsWatched reports whether nothing is attached to the process: it is read from outside, and all of its threads are there.
func (p *Process) IsWatched() bool {
	_, is := p.Control.(watched)
	return is
}

// ErrWatched is the error of what needs control of a process that is only watched.
var ErrWatched = errors.New("process is not controlled")

// LookIf implements Control: no thread is ever stopped.
func (w watched) LookIf(_ context.Context, tids []int, _ func(int) bool, _ func() bool, _ func(int, *ptrace.Regs)) (int, error) {
	return len(tids), ErrWatched
}

// Done implements Control.
func (w watched) Done() <-chan struct{} { return w.done }
