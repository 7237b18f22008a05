package tracee

import (
	"syscall"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Role is the relation of a traced thread to the target.
type Role uint8

const (
	// RoleThread: a thread of the target process.
	RoleThread Role = iota
	// RoleSharer: a thread of another process that shares the target's memory and so
	// hits our breakpoints: the child of vfork(2), posix_spawn(3), clone(CLONE_VM).
	// It is traced until it execs or ends. It is stepped over breakpoints without calling clients.
	RoleSharer
	// RoleCopy: a forked process with a copy of the memory. At its first stop the traps are removed
	// from it, and it is detached.
	RoleCopy
)

var roleNames = [...]string{"thread", "sharer", "copy"}

func (r Role) String() string { return roleNames[r] }

// rewound records that a thread was moved back to make its system call again. This can be undone
// while the thread has not run (see restart.go).
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

	child       *Thread       // the process that it has made, until that is detached
	Creator     *Thread       // the thread that stays in its stop until this one is detached
	stuck       int           // how often in a row it was found in uninterruptible sleep
	starved     time.Duration // since when it has been found waiting for a processor, with the same sched
	sched       procfs.SchedStat
	groupSignal syscall.Signal // the signal that began the group stop it was last in
	groupStop   uint64         // the number of that group stop, by stopCount

	Regs  ptrace.Regs // valid in a stop, unless Known is RegsUnread
	was   ptrace.Regs // the kernel's registers, if Regs were changed since
	Known Known

	busy    bool  // its wait status is being handled; it is settled afterwards
	look    *Look // wants one look at this thread
	rewound rewound
	call    blockedCall

	Above any // data of the hooks
}

// Known says which registers of a thread are in its record.
type Known uint8

const (
	RegsUnread  Known = iota
	RegsRead          // as the kernel has them
	RegsChanged       // to be written back before the thread runs
)

// SetRegs changes registers that have been read.
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
	if !g.up.Flushes(t) || t.Known != RegsChanged {
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

// Change records a change of a thread's machine, or its refusal.
func (g *Group) Change(t *Thread, d Deed, ok bool) {
	if !ok {
		g.Refused(t, d)
		return
	}
	g.Trace.Did(t, d, 0, nil)
}

// Refused records a change that a thread's machine has refused.
func (g *Group) Refused(t *Thread, d Deed) { g.Trace.Did(t, DeedRefused, uint64(d), nil) }
