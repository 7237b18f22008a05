package control

import (
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/pctl/bkpt"
)

// role says what a traced thread is to the target.
type role uint8

const (
	// roleThread: a thread of the target process.
	roleThread role = iota
	// roleSharer: a thread of another process that shares the target's memory and so
	// meets our breakpoints: the child of vfork(2), posix_spawn(3), clone(CLONE_VM).
	// It is traced, and stepped over them in silence, until it execs or ends.
	roleSharer
	// roleCopy: a forked process with a copy of the memory. It is cleaned and let go
	// at its first stop.
	roleCopy
)

var roleNames = [...]string{"thread", "sharer", "copy"}

func (r role) String() string { return roleNames[r] }

// rewound remembers that a system call was moved back to be made again, so that it
// can be undone while the thread has not run (see rewind.go).
type rewound struct {
	pc uint64
	nr int64
}

// thread is the control goroutine's record of one traced thread. No lock: only the
// control goroutine touches it.
type thread struct {
	tid  int
	role role
	m    machine

	child       *thread // process that it has made and that is still to be let go
	creator     *thread // who waits for that
	fresh       bool    // its first stop is still to come
	awaited     bool    // counted in Controller.awaited
	parked      bool    // does not answer interrupts now: uninterruptible, or a dead leader
	stuck       int     // how often in a row it was found like that
	starved     int     // how often in a row it was found waiting for a processor, with the same sched
	sched       procfs.SchedStat
	vfork       bool           // waits in vfork(2) for its child
	inGroup     bool           // was last seen in a group stop
	groupSignal syscall.Signal // that began it
	groupStop   uint64         // which of Controller.stops

	regs  ptrace.Regs // valid while regOK, in a stop
	was   ptrace.Regs // what the kernel has, if regs were changed since
	regOK bool
	dirty bool // regs have to be written back before it runs

	busy     bool             // its report is being handled, at the end of which it is settled
	look     *look            // wants one look at this thread
	lone     *Lone            // has to stand by itself
	over     *bkpt.Breakpoint // must be stepped off this one before it runs
	step     *step            // a single step is under way
	stepTrap bool             // the SIGTRAP of a finished step is its next report
	inSlot   bool             // was sent into a scratch slot, from which it comes back by itself
	marks    []mark           // hits that are reported and will be made again
	uprobe   uprobeHit        // at a uprobe
	back     bool             // has been set back in front of the int3 that it is stopped by
	rewound  rewound
	call     blockedCall
}

// Thread is a thread of a stopped target. It is valid until the function that was
// given it returns, and only on the control goroutine.
type Thread struct {
	c *Controller
	t *thread
}

// TID returns the thread's number.
func (t *Thread) TID() int { return t.t.tid }

// Regs returns the registers. They may be read, not changed. ESRCH for a thread that
// could not be stopped (Parked) or is dying.
func (t *Thread) Regs() (*ptrace.Regs, error) {
	if err := t.c.loadRegs(t.t); err != nil {
		return nil, err
	}
	return &t.t.regs, nil
}

// SetRegs changes the registers; they take effect when the thread runs.
func (t *Thread) SetRegs(r *ptrace.Regs) error {
	if err := t.c.loadRegs(t.t); err != nil {
		return err
	}
	t.t.regs, t.t.dirty = *r, true
	return nil
}

// Parked reports that the thread runs no code of its own although it has not
// stopped: it sleeps uninterruptibly (a parent in vfork(2), a dead file server) or is
// the dead leader of a living process. It stops before it runs again.
func (t *Thread) Parked() bool { return t.t.m.state != stateStopped }

// loadRegs reads the registers of a stopped thread once per stop.
func (c *Controller) loadRegs(t *thread) error {
	if t.regOK {
		return nil
	}
	if t.m.state != stateStopped {
		return syscall.ESRCH
	}
	if err := ptrace.GetRegs(t.tid, &t.regs); err != nil {
		return err
	}
	t.regOK, t.was = true, t.regs
	return nil
}

// flushRegs writes changed registers back.
func (c *Controller) flushRegs(t *thread) error {
	if t.uprobe.behind {
		c.leaveUprobeHit(t)
	}
	if !t.dirty {
		return nil
	}
	t.dirty = false
	err := ptrace.UpdateRegs(t.tid, &t.was, &t.regs)
	c.trace.did(t, deedSetRegs, t.regs.PC(), err)
	t.was = t.regs
	return err
}

// Short uninterruptible sleeps are everyday: for a page, for a lock. A thread counts
// as stuck when it is found in one so often in a row, at intervals of a millisecond.
// Before it is left behind for good it is given more time: an interrupt that is on its
// way when the kernel lets go of it could end its system call.
const (
	stuckFor        = 4
	stuckForLeaving = 100
)

// unresponsive reports whether a thread that was interrupted cannot answer now, and
// may be left alone until it can.
func (c *Controller) unresponsive(t *thread, patience int) bool {
	if c.inScratch(t) {
		return false
	}
	pid := c.pid
	if t.role != roleThread {
		pid = t.tid
	}
	st, err := procfs.ReadTaskStat(pid, t.tid)
	switch {
	case err != nil: // gone: its wait status comes
		return false
	case st.State == 'Z' || st.State == 'X':
		return true
	case st.State == 'D':
		t.stuck++
		return t.stuck >= patience
	}
	t.stuck = 0
	return false
}
