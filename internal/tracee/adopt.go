package tracee

import (
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// ReadStart reads the start time of the process, by which news.Lost recognizes it.
func (g *Group) ReadStart() {
	if st, err := procfs.ReadStat(g.PID); err == nil {
		g.Seizer.Start = st.StartTime
	}
}

// Renew makes the record of the thread that an exec has left, in the stop of that exec. The owner calls it in Execed, when the
// records of all threads have been dropped.
func (g *Group) Renew() *Thread {
	t := g.Add(g.PID, RoleThread, StateRunning)
	t.M.Stop(ptrace.Stop{TID: g.PID, Kind: ptrace.KindExec})
	g.Trace.Did(t, DeedExec, 0, nil)
	g.Stopper.Arrived(t)
	t.busy = true // dispatch settles it
	return t
}

// TakeOver makes a record of the only thread of a new process in the process's own Group. The thread was recorded in
// another Group. It is in a stop of the given kind, and stays there until TakenOver.
func (g *Group) TakeOver(from *Thread, kind ptrace.Kind) *Thread {
	g.Seizer.NewbornSeized, g.Seizer.Alone = true, true
	t := g.Add(g.PID, RoleThread, StateRunning)
	t.M.Stop(ptrace.Stop{TID: g.PID, Kind: kind})
	t.M.signal, t.busy = from.M.signal, true
	return t
}

// TakenOver resumes a thread of TakeOver, unless it is held.
func (g *Group) TakenOver(t *Thread) {
	t.busy = false
	g.Settle(t)
}

// StopMakers stops, for a moment, each thread that may be making a process: those that do not sleep.
func (g *Group) StopMakers() {
	var tids []int
	for tid, t := range g.Threads {
		if st, err := procfs.ReadTaskStat(g.PID, tid); t.Role == RoleThread && err == nil && st.State != 'S' {
			tids = append(tids, tid)
		}
	}
	g.Looks.All(tids, &Look{Visit: func(int, *ptrace.Regs) {}})
}

// SeizeIfSharing reports whether another process uses the memory of this one. If so, it seizes that process's threads.
func (s *Seizer) SeizeIfSharing(pid int) (bool, error) {
	shares, err := s.compare(pid)
	if err != nil || !shares {
		return false, nil // a memory that cannot be compared (kcmp(2) denied) counts as not shared
	}
	r := newReaper()
	defer r.close()
	return true, s.seizeSharing(pid, r)
}
