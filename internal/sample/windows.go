package sample

import (
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/source"
)

// Windows measures the processor time of any number of processes for any number of clients, each in windows of time that
// may overlap. One set of timers of the processors serves them all, and there are no rounds. A process that does not run
// costs nothing, and without a window nothing is sampled. Waiting threads are not seen (Rounds sees them).
//
// A process with windows has one profile, to which its ticks are added. A window is what was added
// between two moments (profile.Mark). With the last window of a process, everything about it is released.
//
// Memory and files of a process may answer late, or never. So nothing of a process is read while the lock is held, except
// files of /proc that do not depend on it. The records of the timers are copied into the backlog of their process
// (backlog.go), and a goroutine of the process's own works that off.
type Windows struct {
	open     func(pid int) (source.Image, error)
	patience time.Duration // WindowsOptions.Patience

	mu        sync.Mutex
	ticks     *perfevent.Ticker
	processes map[int]*timed
	taps      map[int][]*Tap // by process
	wanted    map[int]int    // how many windows and taps want a process sampled
	reader    chan struct{}  // closed to end the goroutine that reads; nil while there is no window
	readers   sync.WaitGroup // that goroutine, those that work off backlogs, and those that wait for the end of lookups
	closed    bool
	losses    int64 // how often records of the timers were found to be lost

	// These are under no lock, or their own.
	backlog atomic.Int64 // bytes in all backlogs
	room    recordPool
	lost    atomic.Int64 // records for which there was no room
	spent   spent
	moved   atomic.Int64 // when the buffers were last read, by time.Now; 0 while there is no window
	sampled atomic.Int64 // number of processes
}

// A buffer holds 64 samples of a processor (perfevent). It is read after a third of the time in
// which it fills.
const (
	ticksPerRead = 20
	longestRead  = 500 * time.Millisecond
)

// WindowsOptions say how Windows sample.
type WindowsOptions struct {
	Period time.Duration
	Files  *source.Files
	Lines  bool
	// Patience is how long a window that has ended waits for names; zero: until all are known.
	Patience time.Duration
}

// OpenWindows opens the timers. They are off until there is a window.
func OpenWindows(o WindowsOptions) (*Windows, error) {
	ticks, err := perfevent.OpenTicker(perfevent.TickerOptions{Period: o.Period, Stack: perfevent.MaxStack})
	if err != nil {
		return nil, err
	}
	if err := ticks.Pause(); err != nil {
		return nil, errors.Join(err, ticks.Close())
	}
	return &Windows{
		open:     func(pid int) (source.Image, error) { return source.OpenImage(pid, o.Files, o.Lines) },
		patience: o.Patience, ticks: ticks, processes: make(map[int]*timed), taps: make(map[int][]*Tap), wanted: make(map[int]int),
	}, nil
}

// longestClose bounds how long Close waits for a process whose memory or files do not answer.
const longestClose = time.Second

// Close ends the sampling. Open windows have what was sampled until then.
func (w *Windows) Close() error {
	err := w.close()
	done := make(chan struct{})
	go func() { // ends with the last of them
		defer close(done)
		w.readers.Wait()
	}()
	select {
	case <-done:
	case <-time.After(longestClose):
	}
	return err
}

func (w *Windows) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.drain()
	w.rest()
	w.closed = true
	for _, s := range w.processes {
		s.do(s.close)
	}
	return w.ticks.Close()
}

// Cost returns how many ticks have been counted and how many records were lost.
func (w *Windows) Cost() Cost {
	w.spent.mu.Lock()
	defer w.spent.mu.Unlock()
	cost := w.spent.cost
	cost.Lost += w.lost.Load()
	return cost
}

// Moved returns when the buffers were last read. It is zero while nothing is sampled. It takes no lock.
func (w *Windows) Moved() time.Time {
	if at := w.moved.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// Processes returns how many processes have a window. It never waits.
func (w *Windows) Processes() int { return int(w.sampled.Load()) }

// admit returns the timed of a process that is to have a window. stat is that of the process now.
func (w *Windows) admit(pid int, stat *procfs.Stat, err error) (*timed, error) {
	if w.closed {
		return nil, os.ErrClosed
	}
	if s := w.processes[pid]; s != nil {
		if s.isOther(stat, err) {
			return nil, syscall.ESRCH // the number is that of another process now; its windows can begin when those of the old one are over
		}
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	s := newTimed(w, pid, stat)
	if err := w.want(pid); err != nil {
		return nil, err
	}
	w.processes[pid] = s
	w.sampled.Add(1)
	s.do(s.begin)
	return s, nil
}

// want begins to sample a process, and turns the timers on.
func (w *Windows) want(pid int) error {
	if w.reader == nil {
		if err := w.ticks.Resume(); err != nil {
			return err
		}
		w.reader = make(chan struct{})
		w.moved.Store(time.Now().UnixNano())
		w.readers.Add(1)
		go w.read(w.reader, w.readEvery()) // ended by rest
	}
	if err := w.ticks.Want(pid); err != nil {
		if len(w.wanted) == 0 {
			w.rest()
		}
		return err
	}
	w.wanted[pid]++
	return nil
}

// drop takes back a want.
func (w *Windows) drop(pid int) {
	if w.wanted[pid]--; w.wanted[pid] > 0 || w.closed {
		return
	}
	delete(w.wanted, pid)
	w.ticks.Drop(pid)
	if len(w.wanted) == 0 {
		w.rest()
	}
}

// readEvery is how often the buffers are read.
func (w *Windows) readEvery() time.Duration { return min(ticksPerRead*w.ticks.Period(), longestRead) }

// read reads the buffers now and then.
func (w *Windows) read(done chan struct{}, every time.Duration) {
	defer w.readers.Done()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			w.tend(done)
		}
	}
}

// rest ends the sampling until the next window.
func (w *Windows) rest() {
	if w.reader != nil {
		close(w.reader)
		w.reader = nil
		w.moved.Store(0)
		w.room.clear()
		w.ticks.Pause() // no error: it was not refused when the timers were opened
	}
}

// drain takes the records of the timers. The lock is held.
func (w *Windows) drain() {
	if w.closed || w.reader == nil {
		return
	}
	if lost := w.ticks.Read(w.takeRecord); lost > 0 {
		w.lost.Add(lost)
		w.losses++
	}
	w.ticks.Redraw(rand.Int64N)
}

// tend reads the buffers, and looks after all processes.
func (w *Windows) tend(done chan struct{}) {
	other := make(map[*timed]bool)
	w.mu.Lock()
	w.drain()
	for _, s := range w.processes {
		if s.ticked > 0 || s.lost.losses != w.losses {
			other[s] = false
		}
	}
	w.mu.Unlock()
	for s := range other {
		other[s] = s.other()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reader != done {
		return
	}
	for s, is := range other {
		s.readCPU(is)
	}
	for _, s := range w.processes {
		s.remind()
	}
	w.moved.Store(time.Now().UnixNano())
}

// takeRecord takes one record.
func (w *Windows) takeRecord(r *perfevent.Record) {
	for _, t := range w.taps[r.PID] {
		t.keep(r)
	}
	s := w.processes[r.PID]
	if s == nil {
		return
	}
	switch r.Kind {
	case perfevent.Tick, perfevent.NoUser:
		s.ticked += w.ticks.Period()
		s.lost.missing.count(1, w.ticks.Period())
		s.keep(r)
	case perfevent.Map:
		m := perfevent.Record{Kind: r.Kind, Time: r.Time, Mapped: r.Mapped}
		s.do(func() { s.takeMap(&m) })
	case perfevent.Name, perfevent.Exit: // the number may come again
		tid := r.TID
		exit := r.Kind == perfevent.Exit
		s.do(func() {
			if delete(s.names, tid); exit {
				delete(s.workers, tid)
			}
		})
	case perfevent.Exec:
		e := perfevent.Record{Kind: r.Kind, Time: r.Time}
		s.do(func() { s.takeExec(&e) })
	}
}
