package sample

import (
	"slices"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/unwind"
)

// A process may have threads that never run user code: the kernel makes them, to work for the process there (workers of
// io_uring, from Linux 5.12 on, and of vhost, from 6.4 on). Their user registers are none, or zero. They have no stack, and the
// system call that the kernel shows for them is that of the thread which they were made from. They are never stopped.

// kernelWorker is the function of such a thread, as far as it has one.
const kernelWorker = "[kernel worker]"

// workers are threads of a process that are known to be such workers.
type workers map[int]bool

// has reports whether a thread without user registers is a worker. Otherwise it is ending, or has ended.
func (w workers) has(pid, tid int) bool {
	if w[tid] {
		return true
	}
	stat, err := procfs.ReadTaskStat(pid, tid)
	if err != nil || stat.Ending() {
		return false
	}
	w[tid] = true
	return true
}

// addWorkers adds to the threads that are controlled the workers in the process, which are not. What is only watched has all of its
// threads.
func (r *roster) addWorkers() {
	if r.p.IsWatched() {
		return
	}
	slices.Sort(r.tids)
	controlled := r.tids
	clear(r.works)
	tids, _ := procfs.Tasks(r.p.PID, nil) // without them it has ended
	for _, tid := range tids {
		if _, is := slices.BinarySearch(controlled, tid); is || !procfs.IsWorker(r.p.PID, tid) {
			continue
		}
		if r.works == nil {
			r.works = make(map[int]bool)
		}
		r.works[tid] = true
		r.tids = append(r.tids, tid)
	}
}

// kernelLevels appends the levels of a thread that runs no user code.
func (s *Sampler) kernelLevels(r *perfevent.Record, levels []profile.Addr, works bool) []profile.Addr {
	if works {
		return s.notedLevels(r, levels, s.worker)
	}
	return s.notedLevels(r, levels, s.exit)
}

// notedLevels appends the levels of a tick whose user code is not looked up.
func (s *Sampler) notedLevels(r *perfevent.Record, levels []profile.Addr, instead profile.Addr) []profile.Addr {
	for _, addr := range r.KernelChain {
		levels = append(levels, s.kernelNote(addr))
	}
	return append(levels, instead)
}

// resting takes the sample of a thread that waits and has no user registers: a worker, or the dead leader of a process
// whose threads live on.
func (o *outside) resting(t *thread, call procfs.Syscall) {
	stat, err := t.files.Stat()
	if err != nil || stat.Ending() {
		o.skip(t)
		return
	}
	t.blocked.call, t.blocked.state, t.blocked.sched, t.blocked.know = call, stat.State, t.usage.now, still
	t.blocked.inTrace, t.lastRegs.partial, t.lastRegs.pc, t.lastRegs.sp = false, true, 0, 0
	o.levels = append(o.levels[:0], o.p.sampler.worker)
	o.p.sampler.cost.Passive++
	o.p.took(t, unwind.Whole)
}
