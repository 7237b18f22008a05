package sample

import (
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
)

func newTree(s *Sampler) *tree {
	f := s.opt.Follow
	t := &tree{
		sampler: s, living: make(map[int]*kin), dead: make(map[int][]*kin),
		files: newTreeFiles(f.Files, f.Lines), lives: make(map[profile.ProcessID]life), strays: newStrays(perfevent.Now()),
		closers: make(chan struct{}, maxLooked),
	}
	if t.births = f.Births; t.births != nil {
		t.ticks = t.births
	} else {
		t.ticks = s.opt.Ticks.(FollowingTicks)
	}
	t.opens.free = freeOpens
	t.pace = newPace(t.ticks, s.opt.Period)
	t.space = s.profile.Space(0, "", t.files)
	t.names.namer = newNamer(t.files, nil)
	t.unwinder.init(t)
	for _, p := range s.processes {
		k := t.add(p.PID, 0)
		k.proc, k.source, p.kin = p, true, k
	}
	return t
}

func (t *tree) add(pid, ppid int) *kin {
	k := &kin{tree: t, pid: pid, ppid: ppid, id: t.sampler.profile.Process(pid, ppid)}
	t.living[pid] = k
	t.sampler.cost.Followed.Processes++
	return k
}

// begin adds the sources and their present descendants. Each process is put into the filter before its children are
// listed: later children are born into the filter.
func (t *tree) begin() {
	t.start = notBegun
	var pids []int
	for _, p := range t.sampler.processes {
		if stat, err := procfs.ReadStat(p.PID); err == nil {
			t.living[p.PID].ppid = stat.PPID
		}
		pids = append(pids, p.PID)
	}
	for again := true; again; {
		again = false
		for i := 0; i < len(pids); i++ {
			for _, child := range childrenOf(pids[i]) {
				if t.living[child] == nil && t.ticks.Want(child) == nil {
					t.add(child, pids[i])
					pids, again = append(pids, child), true
				}
			}
		}
	}
	for _, k := range t.living {
		t.meet(k)
	}
}

// meet reads what is known of a process that existed before.
func (t *tree) meet(k *kin) {
	k.born = t.start
	k.comm, _ = procfs.ReadComm(k.pid, k.pid)
	k.readMaps()
}

// childrenOf returns the processes that a process has made.
func childrenOf(pid int) (children []int) {
	tids, _ := procfs.Tasks(pid, nil)
	for _, tid := range tids {
		more, _ := procfs.Children(pid, tid)
		children = append(children, more...)
	}
	return children
}

// zero takes the first readings of the living processes.
func (t *tree) zero() {
	t.start = perfevent.Now()
	ended := make(map[int]bool)
	t.ticks.Ends(func(e *perfevent.End) { ended[e.TID] = true })
	for _, k := range t.living {
		k.born, k.ticked, k.shown = t.start, 0, 0
		if !k.readThreads(ended) {
			t.strays.early[k.pid] = !k.source
			t.died(k, t.start)
		}
	}
}
