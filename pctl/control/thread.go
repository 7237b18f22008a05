package control

import (
	"syscall"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
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
// can be undone while the thread has not run (see restart.go).
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

	child       *thread       // process that it has made and that is still to be let go
	creator     *thread       // who waits for that
	stuck       int           // how often in a row it was found in uninterruptible sleep
	starved     time.Duration // since when it has been found waiting for a processor, with the same sched
	sched       procfs.SchedStat
	groupSignal syscall.Signal // that began the group stop in which it was seen last
	groupStop   uint64         // which it was, by stopCount

	regs  ptrace.Regs // unless known is regsUnread, in a stop
	was   ptrace.Regs // what the kernel has, if regs were changed since
	known known

	busy    bool  // its report is being handled, at the end of which it is settled
	look    *look // wants one look at this thread
	rewound rewound
	call    blockedCall

	threadTraps
}

// known says what is known of a thread's registers.
type known uint8

const (
	regsUnread  known = iota
	regsRead          // as the kernel has them
	regsChanged       // to be written back before the thread runs
)

// setRegs changes registers that are known.
func (t *thread) setRegs(r *ptrace.Regs) { t.regs, t.known = *r, regsChanged }

// loadRegs reads the registers of a stopped thread once per stop.
func (g *tracees) loadRegs(t *thread) error {
	if t.known != regsUnread {
		return nil
	}
	if t.m.state != stateStopped {
		return syscall.ESRCH
	}
	if err := ptrace.GetRegs(t.tid, &t.regs); err != nil {
		return err
	}
	t.known, t.was = regsRead, t.regs
	return nil
}

// flushRegs writes changed registers back.
func (g *tracees) flushRegs(t *thread) error {
	g.up.flushes(t)
	if t.known != regsChanged {
		return nil
	}
	t.known = regsRead
	err := ptrace.UpdateRegs(t.tid, &t.was, &t.regs)
	g.trace.did(t, deedSetRegs, t.regs.PC(), err)
	t.was = t.regs
	return err
}

// move changes the position of a thread.
func (g *tracees) move(t *thread, to position) {
	switch {
	case t.m.position == to:
	case t.m.move(to):
		g.trace.did(t, deedMove, uint64(to), nil)
	default:
		g.refused(t, deedMove)
	}
}

// change records what was done to the machine of a thread, or that it has refused that.
func (g *tracees) change(t *thread, d deed, ok bool) {
	if !ok {
		g.refused(t, d)
		return
	}
	g.trace.did(t, d, 0, nil)
}

// refused records a change that the machine of a thread has refused.
func (g *tracees) refused(t *thread, d deed) { g.trace.did(t, deedRefused, uint64(d), nil) }
