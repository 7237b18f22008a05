package sample

import (
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/profile"
)

// Windows measures the processor time of any number of processes, in windows of time of any number of clients, which may
// overlap. One set of timers of the processors serves them all, and there are no rounds: a process that does not run costs
// nothing, and without a window nothing is sampled. What waits is not seen (Rounds sees it).
//
// A process with windows has one profile, to which its ticks are added; a window is what came between two
// moments (profile.Mark). With its last window all that is known of the process is given back.
type Windows struct {
	files *Files
	lines bool

	mu        sync.Mutex
	ticks     *perfevent.Ticker
	processes map[int]*timed
	taps      map[int][]*Tap // by process
	wanted    map[int]int    // how many of these want a process sampled
	reader    chan struct{}  // closed to end the goroutine that reads; nil while there is no window
	readers   sync.WaitGroup
	cost      Cost
	closed    bool
}

// A buffer holds 64 samples of a processor (perfevent), and is read after a third of the time in
// which they come.
const (
	ticksPerRead = 20
	longestRead  = 500 * time.Millisecond
)

// OpenWindows opens the timers. They are off until there is a window.
func OpenWindows(period time.Duration, files *Files, lines bool) (*Windows, error) {
	ticks, err := perfevent.OpenTicker(perfevent.TickerOptions{Period: period, Stack: perfevent.MaxStack})
	if err != nil {
		return nil, err
	}
	if err := ticks.Pause(); err != nil {
		return nil, errors.Join(err, ticks.Close())
	}
	return &Windows{files: files, lines: lines, ticks: ticks, processes: make(map[int]*timed), taps: make(map[int][]*Tap), wanted: make(map[int]int)}, nil
}

// Close ends the sampling. Windows that are open have what came until then.
func (w *Windows) Close() error {
	err := w.close()
	w.readers.Wait()
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
		s.close()
	}
	return w.ticks.Close()
}

// Cost returns how many ticks have been counted and how many records were lost.
func (w *Windows) Cost() Cost {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cost
}

// Processes returns how many processes have a window.
func (w *Windows) Processes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.processes)
}

// A Window is a length of time in which the processor time of a process is measured.
type Window struct {
	windows *Windows
	process *timed
	marks   []*profile.Mark // one in each profile of the process since it was opened
	began   time.Time
	base    time.Duration // processor time of the process then
}

// Begin opens a window of a process. It is to be ended.
func (w *Windows) Begin(pid int) (*Window, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, os.ErrClosed
	}
	s := w.processes[pid]
	if s != nil && s.other() {
		return nil, syscall.ESRCH // the number is that of another process now, of which windows begin when those of this one are over
	}
	if s == nil {
		var err error
		if s, err = newTimed(w, pid); err != nil {
			return nil, err
		}
	}
	if w.processes[pid] == nil {
		if err := w.want(pid); err != nil {
			return nil, err
		}
		w.processes[pid] = s
	}
	w.drain() // what came before does not count
	s.readCPU()
	n := &Window{windows: w, process: s, began: time.Now(), base: s.cpu, marks: []*profile.Mark{s.profile.Mark()}}
	s.windows[n] = true
	return n, nil
}

// want has a process sampled, and the timers on.
func (w *Windows) want(pid int) error {
	if w.reader == nil {
		if err := w.ticks.Resume(); err != nil {
			return err
		}
		w.reader = make(chan struct{})
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
			w.mu.Lock()
			w.drain()
			w.mu.Unlock()
		}
	}
}

// rest ends the sampling until there is a window.
func (w *Windows) rest() {
	if w.reader != nil {
		close(w.reader)
		w.reader = nil
		w.ticks.Pause() // it was not refused when the timers were opened
	}
}

// drain takes over what the timers have seen.
func (w *Windows) drain() {
	if w.closed || w.reader == nil {
		return
	}
	w.cost.Lost += w.ticks.Read(w.heard)
	w.ticks.Redraw(rand.Int64N)
	for _, s := range w.processes {
		s.settle()
	}
}

// heard takes one record.
func (w *Windows) heard(r *perfevent.Record) {
	for _, t := range w.taps[r.PID] {
		t.keep(r)
	}
	s := w.processes[r.PID]
	if s == nil {
		return
	}
	switch r.Kind {
	case perfevent.Tick:
		s.take(r)
	case perfevent.Name:
		delete(s.names, r.TID)
	case perfevent.Exec:
		clear(s.names)
	case perfevent.Exit:
		delete(s.names, r.TID) // the number may come again
	}
}

// End closes the window and returns its profile, resolved. To be called once, unless Cancel is.
func (n *Window) End() (*profile.Profile, error) {
	p, image, err := n.take()
	if image != nil {
		// Reading the symbols of a file may take a second, for which only this caller waits.
		p.Prepare()
		p.Resolve()
	}
	n.leave(image)
	return p, err
}

// Cancel closes the window.
func (n *Window) Cancel() {
	_, image, _ := n.take()
	n.leave(image)
}

// take closes the window and returns what it has counted, and the image that has the names.
func (n *Window) take() (*profile.Profile, *heldImage, error) {
	w, s := n.windows, n.process
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drain()
	s.readCPU()
	p := profile.New()
	p.Start, p.Duration, p.Period = n.began, time.Since(n.began), w.ticks.Period()
	for _, m := range n.marks {
		m.AddTo(p)
		m.Release()
	}
	err := s.err
	if p.Total() != (profile.Values{}) {
		err = nil // what was seen counts
	}
	reconcile(p, s.pid, s.cpu-n.base, w.ticks.Period())
	if s.image != nil {
		s.image.holds++
	}
	return p, s.image, err
}

// leave gives back what the window holds.
func (n *Window) leave(image *heldImage) {
	w, s := n.windows, n.process
	w.mu.Lock()
	defer w.mu.Unlock()
	image.release()
	delete(s.windows, n)
	if len(s.windows) == 0 && w.processes[s.pid] == s {
		delete(w.processes, s.pid)
		w.drop(s.pid)
		s.close()
	}
}

// heldImage is an image that its process and windows hold whose addresses are being named. The lock of the Windows is held.
type heldImage struct {
	Image
	holds int
}

func (h *heldImage) release() {
	if h == nil {
		return
	}
	if h.holds--; h.holds == 0 {
		h.Close()
	}
}
