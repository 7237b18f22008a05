package sample

import (
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/source"
)

// kin is one process of a tree: a source, or a descendant of one.
type kin struct {
	tree      *tree
	pid, ppid int
	id        profile.ProcessID
	comm      string
	maps      codeMap

	born time.Duration // CLOCK_MONOTONIC; for a process that existed before, when sampling began
	died time.Duration // 0: it lives

	kinThreads
	kinCPU
	kinWall
	proc    *process // looked at in rounds; nil: only seen by ticks
	source  bool     // proc is one of the sampler's sources
	gone    bool     // sweep has found that it has ended
	refused bool     // it cannot be looked at
	since   time.Duration
	done    chan struct{} // closed when the process has ended
}

// kinThreads is the threads of a process of a tree.
type kinThreads struct {
	threads map[int]bool // that have not ended; nil before the first readings
	early   []int        // ends that were reported before the first readings
	names   map[int]profile.ThreadID
	workers workers // nil: none yet
	execing execing
}

// kinCPU is the processor time of a process of a tree.
type kinCPU struct {
	before time.Duration // processor time at born, of those threads that lived then
	used   time.Duration // processor time of threads that have ended
	clock  time.Duration // processor time at born, of threads that had ended too
	last   time.Duration // when the end of the last thread was read
	known  int           // number of threads there have been
	told   int           // number of those whose end was reported
	final  bool          // used is complete
	ticked time.Duration // processor time that ticks have counted
	lossy  bool          // records were lost while it was not looked at in rounds
}

// kinWall says how much of a process's life has been counted.
type kinWall struct {
	shown time.Duration // wall time that is counted in stacks
	drawn time.Duration // CLOCK_MONOTONIC up to which the timeline has the first thread
}

// threadID returns the entry of a thread in the profile.
func (k *kin) threadID(tid int) profile.ThreadID {
	id, ok := k.names[tid]
	if !ok {
		id = k.tree.sampler.profile.ThreadOf(k.id, tid, k.comm)
		if k.names == nil {
			k.names = make(map[int]profile.ThreadID, 1)
		}
		k.names[tid] = id
	}
	return id
}

// takeRecord takes a record about the process.
func (k *kin) takeRecord(r *perfevent.Record) {
	if k.takeEarly(r) || r.Time < k.tree.start && (r.Kind == perfevent.Tick || r.Kind == perfevent.NoUser) {
		return // ticks of the last milliseconds before sampling began are read after that
	}
	k.execing.note(r)
	switch r.Kind {
	case perfevent.Fork:
		if !k.threads[r.TID] { // otherwise it was listed
			k.threads[r.TID] = true
			k.known++
		}
	case perfevent.Exec:
		if k.threads != nil {
			k.threads = map[int]bool{k.pid: true}
		}
		k.call(r.Comm)
		k.maps.clear()
		k.tree.unlook(k)
		k.rename(r.TID)
	case perfevent.Name:
		if r.TID == k.pid {
			k.call(r.Comm)
		}
		if id, ok := k.names[r.TID]; ok && k.proc == nil {
			k.tree.sampler.profile.Rename(id, r.Comm)
		}
	case perfevent.Map:
		k.maps.add(r.Mapped.Map())
	case perfevent.Tick, perfevent.NoUser:
		k.ticked += k.tree.ticks.Period()
		if k.proc == nil {
			k.tree.take(k, r)
		}
	}
	if k.proc != nil && k.tree.births == nil {
		k.tree.sampler.takeRecordOf(k.proc, r)
	}
	if r.Kind == perfevent.Exit {
		delete(k.names, r.TID) // the number may come again
		delete(k.workers, r.TID)
		k.lose(r.TID, r.Time)
	}
}

// takeEarly takes the birth or the end of a thread from before the first readings, which list the threads. The end of
// a thread that was ending then may be reported before or after them. takeEarly reports whether r is such a record.
func (k *kin) takeEarly(r *perfevent.Record) bool {
	if k.born != k.tree.start || r.Time >= k.born || r.Kind != perfevent.Fork && r.Kind != perfevent.Exit {
		return false
	}
	switch {
	case r.Kind == perfevent.Fork:
	case k.tree.start == notBegun:
		k.early = append(k.early, r.TID)
	default:
		k.lose(r.TID, r.Time)
	}
	return true
}

// lose records the end of a thread. Without timers the end of the first thread is that of the process.
func (k *kin) lose(tid int, at time.Duration) {
	if delete(k.threads, tid); len(k.threads) == 0 || k.tree.births != nil {
		k.tree.died(k, at)
	}
}

// call gives the process a name, unless the name is not known, or the end of the process was read already and had the
// last name.
func (k *kin) call(comm string) {
	if k.last == 0 && comm != "" {
		k.comm = comm
	}
}

// readName gives the process the name that it has now.
func (k *kin) readName() {
	comm, _ := procfs.ReadComm(k.pid, k.pid) // "" if it has ended
	k.call(comm)
}

// rename gives the first thread the name that the process has now.
func (k *kin) rename(tid int) {
	if id, ok := k.names[tid]; ok {
		k.tree.sampler.profile.Rename(id, k.comm)
	}
}

// readMaps reads the executable mappings of the process.
func (k *kin) readMaps() {
	maps, err := procfs.Maps(k.pid)
	if err != nil {
		return // it has ended, or may not be read: only what records report is known
	}
	k.maps.clear()
	for _, m := range maps {
		if m.Perm&procfs.Exec != 0 {
			k.maps.add(m)
		}
	}
}

// readThreads lists the threads and reads their processor time, except those in ended. It reports false if the process
// has ended.
func (k *kin) readThreads(ended map[int]bool) bool {
	k.clock, _ = source.ProcessorTime(k.pid) // 0 if it has ended
	tids, _ := procfs.Tasks(k.pid, nil)
	stat, err := procfs.ReadStat(k.pid)
	k.threads, k.before = make(map[int]bool, len(tids)), 0
	for _, tid := range tids {
		if ended[tid] || tid == k.pid && stat.State == 'Z' { // the first thread may have ended alone
			continue
		}
		k.threads[tid] = true
		if t, err := procfs.OpenTask(k.pid, tid); err == nil {
			if s, err := t.SchedStat(); err == nil {
				k.before += time.Duration(s.Run)
			}
			t.Close()
		}
	}
	for _, tid := range k.early {
		delete(k.threads, tid)
	}
	k.early, k.known = nil, len(k.threads)
	return err == nil && len(k.threads) > 0
}

// cpu returns the processor time that the process has used while it was sampled.
func (k *kin) cpu() time.Duration {
	if k.final {
		return max(k.used-k.before, 0)
	}
	return k.ticked
}

// life returns how long the process was sampled until a moment.
func (k *kin) life(until time.Duration) time.Duration {
	if k.died != 0 {
		until = k.died
	}
	return max(until-max(k.born, k.tree.start), 0)
}
