package tracee

import (
	"syscall"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Role says what a traced thread is to the target.
type Role uint8

const (
	// RoleThread: a thread of the target process.
	RoleThread Role = iota
	// RoleSharer: a thread of another process that shares the target's memory and so
	// meets our breakpoints: the child of vfork(2), posix_spawn(3), clone(CLONE_VM).
	// It is traced, and stepped over them in silence, until it execs or ends.
	RoleSharer
	// RoleCopy: a forked process with a copy of the memory. It is cleaned and let go
	// at its first stop.
	RoleCopy
)

var roleNames = [...]string{"thread", "sharer", "copy"}

func (r Role) String() string { return roleNames[r] }

// rewound remembers that a system call was moved back to be made again, so that it
// can be undone while the thread has not run (see restart.go).
type rewound struct {
	pc uint64
	nr int64
}

// Thread is the control goroutine's record of one traced thread. No lock: only the
// control goroutine touches it.
type Thread struct {
	TID  int
	Role Role
	M    Machine
	Name string // comm, if it was read while all were being stopped; empty when the thread runs again

	child       *Thread       // process that it has made and that is still to be let go
	Creator     *Thread       // the thread that waits for that
	stuck       int           // how often in a row it was found in uninterruptible sleep
	starved     time.Duration // since when it has been found waiting for a processor, with the same sched
	sched       procfs.SchedStat
	groupSignal syscall.Signal // that began the group stop in which it was seen last
	groupStop   uint64         // which it was, by stopCount

	Regs  ptrace.Regs // unless Known is RegsUnread, in a stop
	was   ptrace.Regs // what the kernel has, if regs were changed since
	Known Known

	busy    bool  // its report is being handled, at the end of which it is settled
	look    *Look // wants one look at this thread
	rewound rewound
	call    blockedCall

	Above any // what the hooks keep with it
}

// Known says what is known of a thread's registers.
type Known uint8

const (
	RegsUnread  Known = iota
	RegsRead          // as the kernel has them
	RegsChanged       // to be written back before the thread runs
)

// SetRegs changes registers that are known.
func (t *Thread) SetRegs(r *ptrace.Regs) { t.Regs, t.Known = *r, RegsChanged }

// LoadRegs reads the registers of a stopped thread once per stop.
func (g *Group) LoadRegs(t *Thread) error {
	if t.Known != RegsUnread {
		return nil
	}
	if t.M.state != StateStopped {
		return syscall.ESRCH
	}
	if err := ptrace.GetRegs(t.TID, &t.Regs); err != nil {
		return err
	}
	t.Known, t.was = RegsRead, t.Regs
	return nil
}

// FlushRegs writes changed registers back.
func (g *Group) FlushRegs(t *Thread) error {
	g.up.Flushes(t)
	if t.Known != RegsChanged {
		return nil
	}
	t.Known = RegsRead
	err := ptrace.UpdateRegs(t.TID, &t.was, &t.Regs)
	g.Trace.Did(t, DeedSetRegs, t.Regs.PC(), err)
	t.was = t.Regs
	return err
}

// Move changes the position of a thread.
func (g *Group) Move(t *Thread, to Position) {
	switch {
	case t.M.position == to:
	case t.M.move(to):
		g.Trace.Did(t, DeedMove, uint64(to), nil)
	default:
		g.Refused(t, DeedMove)
	}
}

// Change records what was done to the machine of a thread, or that it has refused that.
func (g *Group) Change(t *Thread, d Deed, ok bool) {
	if !ok {
		g.Refused(t, d)
		return
	}
	g.Trace.Did(t, d, 0, nil)
}

// Refused records a change that the machine of a thread has refused.
func (g *Group) Refused(t *Thread, d Deed) { g.Trace.Did(t, DeedRefused, uint64(d), nil) }
