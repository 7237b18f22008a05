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
	stopCount  uint64        // how many group stops there were
	resumed    bool          // the last one is over, and no signal that begins another was delivered since
}

// beginsStop reports whether a signal stops a process that does not handle it.
func beginsStop(sig syscall.Signal) bool {
	return sig == syscall.SIGSTOP || sig == syscall.SIGTSTP || sig == syscall.SIGTTIN || sig == syscall.SIGTTOU
}

// groupStopped handles one thread's part in a group stop. The wait status may come when the stop
// is over already. That shows when the thread is told to listen (listens). A held thread does not
// listen: its stop counts, unless the last group stop is over and no signal has begun another.
func (s *GroupStop) groupStopped(t *Thread, sig syscall.Signal) {
	t.groupSignal, t.groupStop = sig, 0
	if s.StopSignal.Load() != 0 || t.M.holds > 0 && !s.resumed {
		s.joinStop(t)
	}
}

// listens is called when a thread in a group stop has been told to listen for the end of the stop
// (PTRACE_LISTEN). If the stop had ended before, the kernel has woken the thread: it is on its way
// to the stop that reports the end, or in it.
func (s *GroupStop) listens(t *Thread) {
	st, err := procfs.ReadTaskStat(s.g.PIDOf(t), t.TID)
	if err != nil || st.State != 't' {
		return
	}
	if now, err := ptrace.PeekTID(t.TID, false); err == nil && now.Kind == ptrace.KindNone {
		s.joinStop(t)
	}
}

// joinStop records that a thread takes part in a group stop, and reports the stop if the thread is the first.
// Another group stop may begin before all threads have reported the end of this one. If it begins before
// a thread listens, the thread reports the new stop, and no end of the old one. So an end that a thread
// reports belongs to the stop that it has joined.
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
// as long as the group stop lasts: the process that stopped it decides about it. unspare ends
// that before the thread runs.
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
