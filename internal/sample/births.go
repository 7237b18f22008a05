package sample

import (
	"path"
	"sync"
	"sync/atomic"
	"time"

	"ptools/internal/inner"
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/pctl/control"
)

// Births tells a tree of its processes where there are no timers: each is controlled from its birth, and looked at by stops.
// What ends before it was looked at has its processor time, and no samples.
//
// The functions that are called on control goroutines may be called by several; the others belong to the sampler.
type Births struct {
	period  time.Duration
	files   *Files
	lines   bool
	refused atomic.Int64

	mu      sync.Mutex
	records []perfevent.Record
	ends    []perfevent.End
	living  map[int]born
}

// born is a process, and when it was made.
type born struct {
	c  *control.Controller
	at time.Duration
}

// NewBirths returns Births for rounds that follow each other at a period.
func NewBirths(period time.Duration, files *Files, lines bool) *Births {
	if period <= 0 {
		period = DefaultPeriod
	}
	return &Births{period: period, files: files, lines: lines, living: make(map[int]born)}
}

// Controlled has the ends of a source, a *pctl.Process, and of all that follow it told. Nil tells of none.
func (b *Births) Controlled(process any) error {
	if b == nil {
		return nil
	}
	c, err := inner.Controller(process)
	if err != nil {
		return err
	}
	return c.(*control.Controller).OnEnd(b.ending)
}

// Began tells of a process that another one has made, a *pctl.Process. To be called on the control goroutine, before the process
// runs.
func (b *Births) Began(process any) {
	of, err := inner.Controller(process)
	if err != nil {
		return // it is closed already
	}
	c := of.(*control.Controller)
	st, _ := procfs.ReadStat(c.PID()) // of one that is being killed the parent is unknown
	r := perfevent.Record{Kind: perfevent.Fork, PID: c.PID(), TID: c.PID(), Parent: st.PPID, Time: perfevent.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.living[c.PID()] = born{c, r.Time}
	b.records = append(b.records, r)
}

// Executed tells that a process has executed a program.
func (b *Births) Executed(pid int, program string) {
	comm, err := procfs.ReadComm(pid, pid)
	if err != nil { // it has ended
		comm = path.Base(program)
		comm = comm[:min(len(comm), 15)]
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records = append(b.records, perfevent.Record{Kind: perfevent.Exec, PID: pid, TID: pid, Comm: comm, Time: perfevent.Now()})
}

// Refused tells of a process that is not followed.
func (b *Births) Refused() { b.refused.Add(1) }

// ending is called on the control goroutine when a process has ended, which is still to be waited for.
func (b *Births) ending(pid int) {
	now := perfevent.Now()
	comm, _ := procfs.ReadComm(pid, pid)
	used, err := processorTime(pid)
	b.mu.Lock()
	defer b.mu.Unlock()
	start := b.living[pid].at
	delete(b.living, pid)
	b.records = append(b.records,
		perfevent.Record{Kind: perfevent.Name, PID: pid, TID: pid, Comm: comm, Time: now},
		perfevent.Record{Kind: perfevent.Exit, PID: pid, TID: pid, Time: now})
	if err == nil {
		b.ends = append(b.ends, perfevent.End{PID: pid, TID: pid, Start: start, CPU: used, Comm: comm, Last: true})
	}
}

// Source returns a process as rounds look at it.
func (b *Births) Source(pid int, done <-chan struct{}) *Source {
	b.mu.Lock()
	defer b.mu.Unlock()
	if of, ok := b.living[pid]; ok {
		return NewSource(of.c, b.files, b.lines)
	}
	return Watch(pid, done, b.files, b.lines)
}

// Read implements Ticks.
func (b *Births) Read(f func(*perfevent.Record)) (lost int64) {
	b.mu.Lock()
	records := b.records
	b.records = nil
	b.mu.Unlock()
	for i := range records {
		f(&records[i])
	}
	return 0
}

// ReadAll implements FollowingTicks.
func (b *Births) ReadAll(f func(*perfevent.Record)) (lost int64) { return b.Read(f) }

// Redraw and Period implement Ticks: there are none.
func (b *Births) Redraw(func(int64) int64) {}
func (b *Births) Period() time.Duration    { return b.period }

// Follows implements FollowingTicks.
func (b *Births) Follows() perfevent.Follow { return perfevent.FollowAuto }

// Ends implements FollowingTicks.
func (b *Births) Ends(f func(*perfevent.End)) {
	b.mu.Lock()
	ends := b.ends
	b.ends = nil
	b.mu.Unlock()
	for i := range ends {
		f(&ends[i])
	}
}

// NoRoom implements FollowingTicks.
func (b *Births) NoRoom() int64 { return b.refused.Load() }

// Want implements FollowingTicks: descendants that were there before are followed already, or cannot be.
func (b *Births) Want(pid int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.living[pid]; !ok {
		return errWatched
	}
	return nil
}

// Drop implements FollowingTicks.
func (b *Births) Drop(int) {}
