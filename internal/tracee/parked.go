package tracee

import (
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Unresponsive reports whether a thread that was interrupted cannot answer now, and
// may be left alone until it can. One that makes a step is not left behind for good: KernelMay says why.
func (s *Stopper) Unresponsive(t *Thread, patience int) bool {
	if s.g.up.Answers(t) || patience == StuckForLeaving && t.M.position == PosStepping {
		return false
	}
	st, err := procfs.ReadTaskStat(s.g.PIDOf(t), t.TID)
	switch {
	case err != nil: // gone: its wait status comes
		return false
	case st.State == 'Z' || st.State == 'X':
		return true
	case st.State == 'D':
		t.stuck++
		if patience == StuckForLeaving && s.copies(t) {
			patience = stuckInFork
		}
		return t.stuck >= patience
	}
	t.stuck = 0
	return false
}

// copies reports whether a thread is in the call that makes a process with a copy of its memory.
func (s *Stopper) copies(t *Thread) bool {
	call, err := procfs.ReadSyscall(s.g.PIDOf(t), t.TID)
	return err == nil && ptrace.Forks(call.Nr, call.Args)
}

// Parks reports whether a thread could not be stopped, and is not waited for.
func (s *Stopper) Parks() bool {
	for _, t := range s.g.Threads {
		if t.M.awaits == AwaitParked {
			return true
		}
	}
	return false
}

// Short uninterruptible sleeps are everyday: for a page, for a lock. A thread counts
// as stuck when it is found in one so often in a row, at intervals of a millisecond.
// Before it is left behind for good it is given more time: an interrupt that is on its
// way when the kernel lets go of it could end its system call. And one in fork(2) still more: the new process has the traps
// that were in the text, and would never be rid of them.
const (
	StuckFor        = 4
	StuckForLeaving = 100
	stuckInFork     = 2000
)

// park gives up waiting for a thread that cannot stop now. It runs no code of its
// own, and the interrupt that was sent stops it before it does.
func (s *Stopper) park(t *Thread) { s.g.Change(t, DeedPark, t.M.park()) }

// parkStuck gives up on threads that have been found stuck so often, and on those that are given no processor.
func (s *Stopper) parkStuck(patience int) {
	for _, t := range s.g.Threads {
		if t.M.awaits == AwaitStop && (s.Unresponsive(t, patience) || s.starvedOut(t, patience)) {
			s.park(t)
		}
	}
}

// Expect has a thread waited for that was not, or no more.
func (s *Stopper) Expect(t *Thread) { s.g.Change(t, DeedExpect, t.M.expect()) }

// How long a thread has to be found waiting for a processor before it is left to the kernel, or parked.
const (
	starvedForLeaving = 200 * time.Millisecond
	starvedForPark    = 500 * time.Millisecond
)

// starved reports whether a thread that was interrupted for a look has been given no processor for so long that it
// is left to the kernel. A look interrupts threads that run, and it has not run since: all that it may lose is the rest of
// a call in which the kernel had preempted it. One that would be killed with us is waited for.
func (l *Leaver) starved(t *Thread) bool {
	return l.g.mode != ModeKill && l.g.Stopper.starving(t) >= starvedForLeaving
}

// starving returns for how long a thread that was interrupted has been found waiting for a processor.
func (s *Stopper) starving(t *Thread) time.Duration {
	if !t.M.asked || t.M.state != StateRunning {
		return 0
	}
	pid := s.g.PIDOf(t)
	st, err := procfs.ReadTaskStat(pid, t.TID)
	if err != nil || st.State != 'R' {
		t.starved = 0
		return 0
	}
	now := procfs.Monotonic()
	sched, err := procfs.ReadTaskSchedStat(pid, t.TID)
	if err != nil || sched != t.sched || t.starved == 0 {
		t.starved, t.sched = now, sched
	}
	return now - t.starved
}

// starvedOut reports whether a thread has been given no processor for so long that it is parked: it stops before
// it executes an instruction. Not where it may have executed a trap of ours that it has not reported, nor one that is to
// be let go and would be killed with us.
func (s *Stopper) starvedOut(t *Thread, patience int) bool {
	if patience == StuckForLeaving && s.g.mode == ModeKill {
		return false
	}
	return s.starving(t) >= starvedForPark && !s.g.up.TrapDue(t)
}
