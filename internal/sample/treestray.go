package sample

import (
	"time"

	"ptools/internal/intern"
	"ptools/internal/perfevent"
)

// strays are the processes whose births were not read.
//
// Records of births, names and ends share their buffer with samples. If it is full they are lost, and with them what the
// tree knows of processes. The ends that BPF programs report take another way (perfevent.End). They have all that the
// table of commands needs: process, name, beginning, processor time. So a process whose birth was not read is counted
// when it has ended. Its stacks and its parent are not known.
type strays struct {
	waiting map[identity]*stray
	// Birth times of the processes that were buried lately, and before that. The end of a thread that was ending with the
	// last one may be read after the burial, and must not make a stray of the process.
	buried, before map[int]time.Duration
	turned         time.Duration // when buried was empty
	// early are those that begin has found, and zero has not: the records of their births may come.
	early map[int]bool
}

// identity identifies a process: no other has the same.
type identity struct {
	pid   int
	start time.Duration
}

// stray sums up the ends of such a process's threads so far.
type stray struct {
	cpu  time.Duration
	comm string
	last time.Duration // when the end of the last thread was read; 0: not yet
}

func newStrays(now time.Duration) strays {
	return strays{waiting: make(map[identity]*stray), buried: make(map[int]time.Duration), turned: now, early: make(map[int]bool)}
}

// bury records that a process is counted.
func (s *strays) bury(pid int, born, now time.Duration) {
	if now-s.turned > 2*longestUnread {
		s.buried, s.before, s.turned = make(map[int]time.Duration), s.buried, now
	}
	s.buried[pid] = born
}

// add takes an end that no process has claimed.
func (s *strays) add(e *unclaimed) {
	for _, of := range []map[int]time.Duration{s.buried, s.before} {
		if born, ok := of[e.PID]; ok && born >= e.Start {
			return
		}
	}
	id := identity{e.PID, e.Start}
	one := intern.Value(s.waiting, id, func() *stray { return new(stray) })
	one.cpu += e.CPU
	if e.Last {
		one.last, one.comm = e.at, e.Comm
	}
}

// countStrays counts the strays that have ended. all is true in the last call.
func (t *tree) countStrays(all bool) {
	now := perfevent.Now()
	for id, one := range t.strays.waiting {
		if one.last == 0 || now-one.last < longestUnread+othersEnd && !all {
			continue
		}
		delete(t.strays.waiting, id)
		k := &kin{tree: t, pid: id.pid, id: t.sampler.profile.Process(id.pid, 0), comm: one.comm, born: max(id.start, t.start), died: one.last}
		k.used, k.final, k.lossy = one.cpu, true, true
		t.sampler.cost.Followed.Processes++
		t.sampler.cost.Followed.Stray++
		t.bury(k)
	}
}
