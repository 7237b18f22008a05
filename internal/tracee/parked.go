package tracee

import (
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Unresponsive reports whether a thread that was interrupted cannot stop now, and need not
// be waited for. A thread that makes a step is not left behind for good: KernelMay says why.
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
	case st.Ending(): // it has no call to go back to
		t.stuck++
		return t.stuck >= StuckFor
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

// Short uninterruptible sleeps are common: for a page, for a lock. A thread counts
// as stuck when it is found in one so often in a row, at intervals of a millisecond.
// A thread is given more time before it is left behind for good: an interrupt that is under
// way when the kernel detaches the thread could end its system call. A thread in fork(2) is
// given still more: the new process has a copy of the traps in the text, which nothing would remove.
const (
	StuckFor        = 4
	StuckForLeaving = 100
	stuckInFork     = 2000
)

// park gives up waiting for a thread that cannot stop now. The thread runs no code of its
// own, and the interrupt that was sent stops it before it does.
func (s *Stopper) park(t *Thread) { s.g.Change(t, DeedPark, t.M.park()) }

// parkStuck parks threads that have been found stuck patience times, and those that are given no processor.
func (s *Stopper) parkStuck(patience int) {
	for _, t := range s.g.Threads {
		if t.M.awaits == AwaitStop && (s.Unresponsive(t, patience) || s.starvedOut(t, patience)) {
			s.park(t)
		}
	}
}

// Expect makes a thread waited for that was not, or not any more.
func (s *Stopper) Expect(t *Thread) { s.g.Change(t, DeedExpect, t.M.expect()) }

// How long a thread has to be found waiting for a processor before it is left to the kernel, or parked.
const (
	starvedForLeaving = 200 * time.Millisecond
	starvedForPark    = 500 * time.Millisecond
)

// starved reports whether a thread that was interrupted for a look has been given no processor for so long that it
// is left to the kernel. A look interrupts threads that run, and this one has not run since. So it can lose only the
// rest of a call in which the kernel had preempted it. A thread that would be killed with us is waited for.
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
// it executes an instruction. A thread is not parked where it may have executed a trap of ours that it has not reported,
// nor where it is to be detached and would be killed with us.
func (s *Stopper) starvedOut(t *Thread, patience int) bool {
	if patience == StuckForLeaving && s.g.mode == ModeKill {
		return false
	}
	return s.starving(t) >= starvedForPark && !s.g.up.TrapDue(t)
}
