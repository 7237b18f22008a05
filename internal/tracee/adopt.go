package tracee

import (
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// ReadStart reads when the process was made, for news.Lost to know it again.
func (g *Group) ReadStart() {
	if st, err := procfs.ReadStat(g.PID); err == nil {
		g.Seizer.Start = st.StartTime
	}
}

// TakeOver puts the only thread of a process on the books of that process. It was on those of another one, stands in a
// stop of a kind, and stays there until TakenOver.
func (g *Group) TakeOver(from *Thread, kind ptrace.Kind) *Thread {
	g.Seizer.NewbornSeized, g.Seizer.Alone = true, true
	t := g.Add(g.PID, RoleThread, StateRunning)
	t.M.Stop(ptrace.Stop{TID: g.PID, Kind: kind})
	t.M.signal, t.busy = from.M.signal, true
	return t
}

// TakenOver lets such a thread run, unless it is held.
func (g *Group) TakenOver(t *Thread) {
	t.busy = false
	g.Settle(t)
}

// StopMakers stops each thread for a moment that may be making a process: those that do not sleep.
func (g *Group) StopMakers() {
	var tids []int
	for tid, t := range g.Threads {
		if st, err := procfs.ReadTaskStat(g.PID, tid); t.Role == RoleThread && err == nil && st.State != 'S' {
			tids = append(tids, tid)
		}
	}
	g.Looks.All(tids, &Look{Visit: func(int, *ptrace.Regs) {}})
}

// SeizeIfSharing seizes the threads of another process if that uses the memory of this one. It reports whether it does.
func (s *Seizer) SeizeIfSharing(pid int) (bool, error) {
	shares, err := s.compare(pid)
	if err != nil || !shares {
		return false, nil // as of one whose memory is not to be compared (kcmp(2) denied)
	}
	r := newReaper()
	defer r.close()
	return true, s.seizeSharing(pid, r)
}
