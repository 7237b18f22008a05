package sample

import (
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"ptools/internal/perfevent"
)

// A Tap takes the ticks of one process from those of Windows, for a sampler in rounds. So one set of timers serves all
// processes and clients. A Tap belongs to one goroutine.
type Tap struct {
	windows *Windows
	pid     int
	peeker  *perfevent.Peeker
	used    []*perfevent.Record // of the last Read, to be used again
	lost    int64               // records lost for all processes, at the last Read

	mu      sync.Mutex
	records []*perfevent.Record
	bytes   int   // of the copies of stacks in them
	missed  int64 // records for which there was no room
}

// mostTapped bounds the records that wait for their reader. Their copies of stacks count with the backlogs of windows.
const mostTapped = 128

// Tap begins to take the ticks of a process. Close must be called.
func (w *Windows) Tap(pid int, blame bool) (*Tap, error) {
	t := &Tap{windows: w, pid: pid}
	if blame {
		t.peeker, _ = perfevent.OpenPeeker() // without it running holders are not seen
	}
	if err := t.begin(); err != nil {
		if t.peeker != nil {
			t.peeker.Close()
		}
		return nil, err
	}
	return t, nil
}

func (t *Tap) begin() error {
	w := t.windows
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return os.ErrClosed
	}
	if err := w.want(t.pid); err != nil {
		return err
	}
	t.lost = w.lost.Load()
	w.taps[t.pid] = append(w.taps[t.pid], t)
	return nil
}

// keep copies a record. What r refers to is valid only during the call.
func (t *Tap) keep(r *perfevent.Record) {
	w, size := t.windows, size(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.records) >= mostTapped || w.backlog.Load()+int64(size) > mostBacklogAll && t.bytes+size > leastBacklog {
		t.missed++
		return
	}
	t.bytes += size
	w.backlog.Add(int64(size))
	t.records = append(t.records, w.room.copy(r))
}

// Read implements Ticks. While somebody else reads the timers the records that he finds are for the next Read: with the rounds of a hundred
// processes, all of which wait for their turn, nobody would have his in time.
func (t *Tap) Read(f func(*perfevent.Record)) (lost int64) {
	if w := t.windows; w.mu.TryLock() {
		w.drain()
		w.mu.Unlock()
	}
	return t.take(f)
}

// ReadAll implements Ticks.
func (t *Tap) ReadAll(f func(*perfevent.Record)) (lost int64) {
	w := t.windows
	w.mu.Lock()
	w.drain()
	w.mu.Unlock()
	return t.take(f)
}

// take calls f for the records that have been kept.
func (t *Tap) take(f func(*perfevent.Record)) (lost int64) {
	w := t.windows
	w.room.put(t.used...)
	t.mu.Lock()
	records, bytes, all := t.records, t.bytes, w.lost.Load()
	lost = all - t.lost + t.missed
	t.records, t.bytes, t.missed, t.lost = nil, 0, 0, all
	t.mu.Unlock()
	for _, r := range records {
		f(r)
	}
	w.backlog.Add(int64(-bytes))
	t.used = records
	return lost
}

// Redraw implements Ticks. The Windows do it.
func (t *Tap) Redraw(func(int64) int64) {}

// Watch implements Ticks.
func (t *Tap) Watch(tid int, pages []uint64) { t.windows.ticks.Watch(tid, pages) }

// Period implements Ticks.
func (t *Tap) Period() time.Duration { return t.windows.ticks.Period() }

// Blame returns the Blame for a sampler with these ticks.
func (t *Tap) Blame() *Blame {
	if t.peeker == nil {
		return &Blame{}
	}
	return &Blame{Peek: t.peeker.Peek}
}

// Close ends the Tap.
func (t *Tap) Close() (err error) {
	w := t.windows
	w.mu.Lock()
	defer w.mu.Unlock()
	t.mu.Lock()
	w.backlog.Add(int64(-t.bytes))
	w.room.put(t.records...)
	w.room.put(t.used...)
	t.records, t.used, t.bytes = nil, nil, 0
	t.mu.Unlock()
	if i := slices.Index(w.taps[t.pid], t); i >= 0 {
		w.taps[t.pid] = slices.Delete(w.taps[t.pid], i, i+1)
		if len(w.taps[t.pid]) == 0 {
			delete(w.taps, t.pid)
		}
		w.drop(t.pid)
	}
	if t.peeker != nil {
		err = errors.Join(err, t.peeker.Close())
		t.peeker = nil
	}
	return err
}
