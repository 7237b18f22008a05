// Package births reports the processes of a tree where there are no timers of the processors, to a sampler that follows
// descendants.
package births

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ptools/internal/inner"
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/source"
	"ptools/pctl/control"
)

// Births reports the processes of a tree where there are no timers: each is controlled from its birth, and looked at by
// stops. A process that ends before it was looked at has its processor time, and no samples.
//
// observe is called on control goroutines, of which there may be several. The other methods belong to the sampler.
type Births struct {
	period  time.Duration
	files   *source.Files
	lines   bool
	refused atomic.Int64
	sources []*control.Controller

	mu      sync.Mutex
	records []perfevent.Record
	ends    []perfevent.End
	living  map[int]born
}

// born is a process and the time of its birth.
type born struct {
	c  *control.Controller // nil: it uses its parent's memory
	at time.Duration
}

// New returns Births for rounds that follow each other at a period, which must be positive.
func New(period time.Duration, files *source.Files, lines bool) *Births {
	return &Births{period: period, files: files, lines: lines, living: make(map[int]born)}
}

// Follow reports the present and future descendants of a source, a *pctl.Process. Those that the client does not
// follow itself are controlled for Births, until Release. Nil Births follow none.
func (b *Births) Follow(ctx context.Context, process inner.Process) error {
	if b == nil {
		return nil
	}
	c, err := inner.Controller(process)
	if err != nil {
		return err
	}
	if err := c.Observe(ctx, b.observe); err != nil {
		return fmt.Errorf("follow %d: %w", c.PID(), err)
	}
	b.sources = append(b.sources, c)
	return nil
}

// Release lets go of the processes that are controlled for Births, and ends the following. It returns when they are free.
// After pctl.Session.Leave they are free at the latest when the sources are.
func (b *Births) Release() {
	if b == nil {
		return
	}
	for _, c := range b.sources {
		_ = c.Observe(context.Background(), nil) // an error means that it has ended; its descendants have too, or are let go below
	}
	b.mu.Lock()
	var ours []*control.Controller
	for _, of := range b.living {
		if of.c != nil && of.c.Observed() {
			ours = append(ours, of.c)
		}
	}
	b.mu.Unlock()
	for _, c := range ours {
		_ = c.Release(context.Background(), control.ModeRun) // the only error is that of the context
	}
}

// observe records what happens to a process. It runs on the control goroutine.
func (b *Births) observe(o control.Occurrence) {
	now := perfevent.Now()
	if o.Kind == control.Ended {
		b.ended(o.PID, now)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	of, known := b.living[o.PID]
	switch o.Kind {
	case control.Born, control.Taken:
		if !known {
			of.at = now
			b.tell(perfevent.Record{Kind: perfevent.Fork, PID: o.PID, Parent: o.Parent, Time: now})
		}
		of.c = o.Control
		b.living[o.PID] = of
	case control.Execed:
		b.tell(perfevent.Record{Kind: perfevent.Exec, PID: o.PID, Time: now})
	case control.Left:
		b.refused.Add(1)
		if known {
			delete(b.living, o.PID)
			b.tell(perfevent.Record{Kind: perfevent.Exit, PID: o.PID, Time: now})
		}
	}
}

// tell adds a record for the first thread of a process. b.mu is held.
func (b *Births) tell(r perfevent.Record) {
	r.TID = r.PID
	b.records = append(b.records, r)
}

// ended records the end of a process. The process has not been waited for yet.
func (b *Births) ended(pid int, now time.Duration) {
	comm, _ := procfs.ReadComm(pid, pid)
	used, err := source.ProcessorTime(pid)
	b.mu.Lock()
	defer b.mu.Unlock()
	start := b.living[pid].at
	delete(b.living, pid)
	b.tell(perfevent.Record{Kind: perfevent.Name, PID: pid, Comm: comm, Time: now})
	b.tell(perfevent.Record{Kind: perfevent.Exit, PID: pid, Time: now})
	if err == nil {
		b.ends = append(b.ends, perfevent.End{PID: pid, TID: pid, Start: start, CPU: used, Comm: comm, Last: true})
	}
}

// Source returns a process as a source for rounds; nil if it cannot be looked at, or not yet.
func (b *Births) Source(pid int, _ <-chan struct{}) *source.Process {
	b.mu.Lock()
	defer b.mu.Unlock()
	if of := b.living[pid]; of.c != nil {
		return source.New(of.c, b.files, b.lines)
	}
	return nil
}

// Read implements sample.Ticks.
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

// ReadAll implements sample.FollowingTicks.
func (b *Births) ReadAll(f func(*perfevent.Record)) (lost int64) { return b.Read(f) }

// Watch, Redraw and Period implement sample.Ticks. Births has no ticks.
func (b *Births) Redraw(func(int64) int64) {}
func (b *Births) Watch(int, []uint64)      {}
func (b *Births) Period() time.Duration    { return b.period }

// Follows implements sample.FollowingTicks.
func (b *Births) Follows() perfevent.Follow { return perfevent.FollowAuto }

// Ends implements sample.FollowingTicks.
func (b *Births) Ends(f func(*perfevent.End)) {
	b.mu.Lock()
	ends := b.ends
	b.ends = nil
	b.mu.Unlock()
	for i := range ends {
		f(&ends[i])
	}
}

// NoRoom implements sample.FollowingTicks.
func (b *Births) NoRoom() int64 { return b.refused.Load() }

// Want implements sample.FollowingTicks. Descendants that existed before are followed already, or cannot be followed.
func (b *Births) Want(pid int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.living[pid]; !ok {
		return source.ErrWatched
	}
	return nil
}

// Drop implements sample.FollowingTicks.
func (b *Births) Drop(int) {}
