package control

import (
	"errors"
	"sync"

	"ptools/internal/mem"
)

// KillRisk says what becomes of the target's breakpoints when we are killed, and what was not done
// because of that. It is zero with uprobes and, except for NoLoads, for a target that is killed with
// us.
type KillRisk struct {
	// Int3s says that some are int3 instructions. A thread ends the target if it comes to an int3
	// before the int3 is out of the text. A thread that has hit one, and whose stop we have not
	// handled, ends the target as well.
	Int3s bool
	// NoUprobe is why a breakpoint that was to be a uprobe is an int3; nil: there is none.
	NoUprobe error
	// NoGuard is why nothing would take the int3s out of the text; nil: the guard would.
	NoGuard error
	// NoLoads is why loading and unloading of objects is not reported although that was asked for: it
	// would take an int3. nil: it is reported.
	NoLoads error
}

var (
	errNoGuard    = errors.New("none was asked for")
	errUnwritable = errors.New("/proc/PID/mem may not be opened: needs CAP_DAC_OVERRIDE beside CAP_SYS_PTRACE")
	errUnforced   = errors.New("this kernel lets only a tracer write to text (proc_mem.force_override)")
)

// killRisk keeps what KillRisk returns. Any goroutine may read it.
type killRisk struct {
	mu       sync.Mutex
	int3s    bool
	noUprobe error
	noLoads  error
	noGuard  error // why the guard cannot write to the target
}

// unseen notes why the run-time linker is not followed; nil: it is.
func (x *killRisk) unseen(refused error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.noLoads == nil || refused == nil || x.noLoads.Error() != refused.Error() { // else nothing has changed
		x.noLoads = refused
	}
}

// int3 notes a breakpoint that is an int3. refused is why it is no uprobe, or nil. The first reason is
// kept.
func (x *killRisk) int3(refused error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.int3s = true
	if x.noUprobe == nil {
		x.noUprobe = refused
	}
}

// writable notes whether the guard could write to the present address space.
func (x *killRisk) writable(ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.noGuard = nil
	switch {
	case !ok:
		x.noGuard = errUnwritable
	case !mem.Forces():
		x.noGuard = errUnforced
	}
}

// reset is called for an address space without breakpoints.
func (x *killRisk) reset() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.int3s, x.noUprobe = false, nil
}

// KillRisk returns the risk of the breakpoints that were set in the present program. Any goroutine may
// call, also when control has ended: then the result is as it was before.
func (c *Controller) KillRisk() KillRisk {
	x := &c.traps.killRisk
	x.mu.Lock()
	e := KillRisk{Int3s: x.int3s, NoUprobe: x.noUprobe, NoLoads: x.noLoads}
	noGuard := x.noGuard
	x.mu.Unlock()
	switch {
	case c.opt.Mode == ModeKill:
		return KillRisk{NoLoads: e.NoLoads}
	case !e.Int3s:
	case c.opt.Guard == nil:
		e.NoGuard = errNoGuard
	case noGuard != nil:
		e.NoGuard = noGuard
	default:
		e.NoGuard = c.opt.Guard.Err()
	}
	return e
}
