package sample

import (
	"slices"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// crowded is the number of threads from which it pays to read all of them at once. Opening the reader takes as
// long as opening the files of some hundred threads.
const crowded = 512

// A crowd is the threads of a process with very many threads, most of which sleep. The files of a thread that
// sleeps all the time are never opened.
type crowd struct {
	p       *process
	tasks   source.Tasks
	tried   bool
	records []perfevent.TaskRecord // by tid; nil: each thread is to be read
	met     []sleeper              // scratch of look
	levels  []profile.Addr         // of their stacks, one after the other
}

// sleeper is a thread that was found asleep.
type sleeper struct {
	t        *thread
	sched    procfs.SchedStat
	call     procfs.Syscall
	state    byte
	end      unwind.End
	from, to int // of its levels
	record   perfevent.TaskRecord
}

// reads reports whether the threads have been read all at once before.
func (c *crowd) reads() bool { return c.tasks != nil }

// another reports whether, by the records, another thread has t's number by now.
func (c *crowd) another(t *thread) bool {
	r := c.record(t.tid)
	return r != nil && t.born != 0 && r.Start != t.born
}

// read reads new records, if that is worth it for n threads. forget ends their use.
func (c *crowd) read(n int) bool {
	c.records = nil
	if n < crowded || c.p.sampler.opt.Ticks == nil || !c.open() {
		return false
	}
	records, err := c.tasks.Read()
	if err != nil {
		c.close()
		return false
	}
	byTID := func(a, b perfevent.TaskRecord) int { return a.TID - b.TID }
	if !slices.IsSortedFunc(records, byTID) {
		slices.SortFunc(records, byTID)
	}
	c.records = records
	return true
}

func (c *crowd) forget() { c.records = nil }

// open opens the reader of the threads. It reports false if there is none: then each thread is read in /proc.
func (c *crowd) open() bool {
	if !c.tried && c.p.Tasks != nil {
		if tasks, err := c.p.Tasks(); err == nil {
			c.tasks = tasks
		}
	}
	c.tried = true
	return c.tasks != nil
}

func (c *crowd) close() {
	if c.tasks != nil {
		c.tasks.Close()
		c.tasks = nil
	}
	c.forget()
}

// record returns what was read of a thread, or nil.
func (c *crowd) record(tid int) *perfevent.TaskRecord {
	i, ok := slices.BinarySearchFunc(c.records, tid, func(r perfevent.TaskRecord, tid int) int { return r.TID - tid })
	if !ok {
		return nil
	}
	return &c.records[i]
}

// schedStat returns the schedstat line of a thread, from the records if it is there.
func (c *crowd) schedStat(t *thread) (procfs.SchedStat, error) {
	if r := c.record(t.tid); r != nil {
		return schedOf(r), nil
	}
	return t.files.SchedStat()
}

func schedOf(r *perfevent.TaskRecord) procfs.SchedStat {
	return procfs.SchedStat{Run: r.Run, Wait: r.Wait, Slices: r.Slices}
}

// callOf returns where a thread sleeps, in the form of /proc/PID/task/TID/syscall.
func callOf(r *perfevent.TaskRecord) procfs.Syscall {
	call := procfs.Syscall{Nr: -1, SP: r.Regs.SP(), PC: r.Regs.PC()}
	if nr, _, in := r.Regs.SyscallReturn(); in {
		call.Nr, call.Args = nr, r.Regs.Args()
	}
	return call
}

// look takes the stacks of the threads that sleep, and still do when the stacks have been read. It returns the
// remaining threads, in the same slice.
func (c *crowd) look(threads []*thread) []*thread {
	p := c.p
	defer c.forget()
	if !c.read(len(threads)) {
		return threads
	}
	left := threads[:0]
	c.met, c.levels = c.met[:0], c.levels[:0]
	for _, t := range threads {
		if r := c.record(t.tid); r != nil && r.State != 'R' && r.Regs.SP() != 0 {
			c.meet(t, r)
		} else {
			left = append(left, t)
		}
	}
	if !c.read(len(threads)) {
		clear(c.met)
		return append(left, c.missed(func(*sleeper) bool { return false })...)
	}
	left = append(left, c.missed(func(m *sleeper) bool {
		r := c.record(m.t.tid)
		return r != nil && schedOf(r) == m.sched
	})...)
	for i := range c.met {
		m := &c.met[i]
		t := m.t
		p.activity.saw(t, m.sched)
		t.looked, t.turn.visited = true, 0
		t.turn.burst, t.turn.sighting, t.turn.recheck, t.turn.waits = 0, noSighting, false, false
		p.activity.examined = append(p.activity.examined, t)
		p.outside.levels = append(p.outside.levels[:0], c.levels[m.from:m.to]...)
		p.outside.accept(t, m.call, m.state, m.end)
		t.lastRegs.regs, t.lastRegs.partial = m.record.Regs, false
		p.activity.rest(t)
		p.contend(t)
	}
	clear(c.met)
	return left
}

// meet reads the stack of a thread that sleeps.
func (c *crowd) meet(t *thread, r *perfevent.TaskRecord) {
	p := c.p
	call := callOf(r)
	if call.Nr == restartSyscall {
		call.Nr = p.outside.restarted(t, call.PC, call.SP)
	}
	s := &p.outside.snap
	s.Partial, s.Regs, s.PC, s.SP = false, r.Regs, call.PC, call.SP
	t.learnStack(p.image, s.SP)
	p.outside.readStack(t)
	end := p.outside.unwindBlocked(t, s, call, r.State)
	from := len(c.levels)
	c.levels = append(c.levels, p.outside.levels...)
	c.met = append(c.met, sleeper{t, schedOf(r), call, r.State, end, from, len(c.levels), *r})
}

// missed removes from the list of threads met those for which still is false, and returns them.
func (c *crowd) missed(still func(*sleeper) bool) (threads []*thread) {
	kept := c.met[:0]
	for i := range c.met {
		if m := c.met[i]; still(&m) {
			kept = append(kept, m)
		} else {
			threads = append(threads, m.t)
		}
	}
	c.met = kept
	return threads
}
