package tracee

import (
	"sync/atomic"
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// GroupStop is the group stop of the target.
type GroupStop struct {
	g          *Group
	StopSignal atomic.Uint32 // that it is in, or 0
	stopCount  uint64        // those that were told
	resumed    bool          // the last one is over, and no signal was delivered since that begins another
}

// beginsStop tells the signals that stop a process unless it handles them.
func beginsStop(sig syscall.Signal) bool {
	return sig == syscall.SIGSTOP || sig == syscall.SIGTSTP || sig == syscall.SIGTTIN || sig == syscall.SIGTTOU
}

// groupStopped handles one thread's part in a group stop. The report may come when the stop
// is over, which shows when the thread goes on to listen (listens). Of one that does not,
// because it is held, a stop is believed unless no signal has begun another since the last.
func (s *GroupStop) groupStopped(t *Thread, sig syscall.Signal) {
	t.groupSignal, t.groupStop = sig, 0
	if s.StopSignal.Load() != 0 || t.M.holds > 0 && !s.resumed {
		s.joinStop(t)
	}
}

// listens is called when a thread in a group stop has been told to wait for its end. If that
// was before, the kernel has woken it, and it is on its way to its report of that or there.
func (s *GroupStop) listens(t *Thread) {
	st, err := procfs.ReadTaskStat(s.g.PIDOf(t), t.TID)
	if err != nil || st.State != 't' {
		return
	}
	if now, err := ptrace.PeekTID(t.TID, false); err == nil && now.Kind == ptrace.KindNone {
		s.joinStop(t)
	}
}

// joinStop notes a thread that takes part in a group stop, and tells of it if it is the first.
// Another one may begin before all threads have told the end of this one. Where it began before
// a thread listens, that reports it, and no end; so its end is of the stop that it has joined.
func (s *GroupStop) joinStop(t *Thread) {
	if t.Role != RoleThread {
		return
	}
	if s.StopSignal.Load() == 0 {
		s.StopSignal.Store(uint32(t.groupSignal))
		s.stopCount++
		if s.g.phase != PhaseStopping { // else the SIGSTOP is ours
			s.g.news.GroupStop(t, t.groupSignal)
		}
	}
	t.groupStop = s.stopCount
}

// spare keeps our death from killing a thread of a process that is stopped from outside, for
// as long as the group stop lasts: what stopped it decides about it. unspare ends that before
// the thread runs.
func (s *GroupStop) spare(t *Thread) {
	if s.g.mode == ModeKill && t.Role == RoleThread {
		ptrace.SetOptions(t.TID, s.g.Seizer.Options(ModeRun)) // ESRCH: it is being killed
	}
}

func (s *GroupStop) unspare(t *Thread) {
	if s.g.mode == ModeKill && t.Role == RoleThread {
		ptrace.SetOptions(t.TID, s.g.Seizer.Options(ModeKill))
	}
}
