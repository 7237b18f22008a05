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
	"ptools/internal/profile"
)

// Windows measures the processor time of any number of processes for any number of clients, each in windows of time that
// may overlap. One set of timers of the processors serves them all, and there are no rounds. A process that does not run
// costs nothing, and without a window nothing is sampled. Waiting threads are not seen (Rounds sees them).
//
// A process with windows has one profile, to which its ticks are added. A window is what was added
// between two moments (profile.Mark). With the last window of a process, everything about it is released.
type Windows struct {
	open     func(pid int) (Image, error)
	patience time.Duration // WindowsOptions.Patience

	mu        sync.Mutex
	ticks     *perfevent.Ticker
	processes map[int]*timed
	taps      map[int][]*Tap // by process
	wanted    map[int]int    // how many windows and taps want a process sampled
	reader    chan struct{}  // closed to end the goroutine that reads; nil while there is no window
	readers   sync.WaitGroup // that goroutine, and those that wait for the end of lookups whose names are no longer needed
	cost      Cost
	closed    bool
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
	Files  *Files
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
		open:     func(pid int) (Image, error) { return openNative(pid, o.Files, o.Lines) },
		patience: o.Patience, ticks: ticks, processes: make(map[int]*timed), taps: make(map[int][]*Tap), wanted: make(map[int]int),
	}, nil
}

// Close ends the sampling. Open windows have what was sampled until then.
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
	marks   []*profile.Mark // one in each profile of the process since the window was opened
	began   time.Time
	base    time.Duration // processor time of the process at that time
	result  *result       // nil: the window is open
}

// result is the result of a window that is over.
type result struct {
	profile *profile.Profile
	images  []*heldImage // images that have the names
	err     error
}

// Begin opens a window of a process. End or Cancel must be called.
func (w *Windows) Begin(pid int) (*Window, error) {
	var fresh *timed
	if !w.knows(pid) {
		var err error
		if fresh, err = newTimed(w, pid); err != nil { // without the lock: reading the maps of a large process takes a while
			return nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.admit(pid, fresh)
	if fresh != nil && s != fresh {
		fresh.close()
	}
	if err != nil {
		return nil, err
	}
	w.drain() // earlier ticks do not count
	s.readCPU()
	return s.window(time.Now()), nil
}

// window opens a window that begins now.
func (s *timed) window(now time.Time) *Window {
	n := &Window{windows: s.w, process: s, began: now, base: s.cpu, marks: []*profile.Mark{s.profile.Mark()}}
	s.windows[n] = true
	return n
}

// Next closes the window and opens one that begins at the same moment, whatever the machine does meanwhile: each tick
// is in one of the two. n must still be ended. If Next returns an error, n continues.
func (n *Window) Next() (*Window, error) {
	w, s := n.windows, n.process
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return nil, os.ErrClosed
	case s.other():
		return nil, syscall.ESRCH
	}
	now := n.close()
	return s.window(now), nil
}

// knows reports whether a process has windows.
func (w *Windows) knows(pid int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.processes[pid] != nil
}

// admit returns the timed of a process that is to have a window: the known one, or else fresh. fresh is nil if the
// process was known a moment ago.
func (w *Windows) admit(pid int, fresh *timed) (s *timed, err error) {
	if w.closed {
		return nil, os.ErrClosed
	}
	if s := w.processes[pid]; s != nil {
		if s.other() {
			return nil, syscall.ESRCH // the number is that of another process now; its windows can begin when those of the old one are over
		}
		return s, nil
	}
	if s = fresh; s == nil {
		if s, err = newTimed(w, pid); err != nil {
			return nil, err
		}
	}
	if err := w.want(pid); err != nil {
		s.close()
		return nil, err
	}
	w.processes[pid] = s
	return s, nil
}

// want begins to sample a process, and turns the timers on.
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

// rest ends the sampling until the next window.
func (w *Windows) rest() {
	if w.reader != nil {
		close(w.reader)
		w.reader = nil
		w.ticks.Pause() // no error: it was not refused when the timers were opened
	}
}

// drain takes the records of the timers.
func (w *Windows) drain() {
	if w.closed || w.reader == nil {
		return
	}
	w.cost.Lost += w.ticks.Read(w.takeRecord)
	w.ticks.Redraw(rand.Int64N)
	for _, s := range w.processes {
		s.settle()
	}
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

// End closes the window and returns its profile, resolved. Either End or Cancel must be called, once.
func (n *Window) End() (*profile.Profile, error) {
	t := n.take()
	nameWithin(t.profile, n.windows.patience, func() { n.leave(t.images) })
	return t.profile, t.err
}

// nameWithin resolves a profile. Reading the symbols of a file may take seconds. Only this caller waits for that,
// and no longer than d unless d is zero; an address that is not resolved by then has no name. Names are looked up
// as soon as an address is met. So the wait is long only for the first, short windows of programs with very many
// symbols. over is called when nothing is looked up any more, which may be later.
func nameWithin(p *profile.Profile, d time.Duration, over func()) {
	var ready atomic.Int64
	var users atomic.Int32
	leave := func() {
		if users.Add(-1) == 0 {
			over()
		}
	}
	users.Add(1)
	defer leave()
	todo := p.Unresolved()
	if len(todo.Prepare) > 0 {
		done := make(chan struct{})
		users.Add(1)
		go func() { // ends when the present file has been read
			defer close(done)
			defer leave()
			for _, prepare := range todo.Prepare {
				prepare()
				ready.Add(1)
			}
		}()
		var late <-chan time.Time
		if d > 0 {
			late = time.After(d)
		}
		select {
		case <-done:
		case <-late:
		}
	}
	todo.Resolve(int(ready.Load()))
}

// Cancel closes the window.
func (n *Window) Cancel() {
	n.leave(n.take().images)
}

// take closes the window, unless Next has, and returns what it has counted.
func (n *Window) take() *result {
	n.windows.mu.Lock()
	defer n.windows.mu.Unlock()
	if n.result == nil {
		n.close()
	}
	return n.result
}

// close sets result. It returns the moment at which the window ends. The lock of the Windows is held.
func (n *Window) close() (now time.Time) {
	w, s := n.windows, n.process
	w.drain()
	s.readCPU()
	now = time.Now()
	p := profile.New()
	p.Start, p.Duration, p.Period = n.began, now.Sub(n.began), w.ticks.Period()
	for _, m := range n.marks {
		m.AddTo(p)
		m.Release()
	}
	err := s.err
	if p.Total() != (profile.Values{}) {
		err = nil // what was sampled counts
	}
	reconcile(p, s.pid, s.cpu-n.base, w.ticks.Period(), maxStretch)
	n.result = &result{p, s.images(), err}
	return now
}

// leave releases what the window holds.
func (n *Window) leave(images []*heldImage) {
	w, s := n.windows, n.process
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range images {
		h.release()
	}
	delete(s.windows, n)
	if len(s.windows) == 0 && w.processes[s.pid] == s {
		delete(w.processes, s.pid)
		w.drop(s.pid)
		s.close()
	}
}

// heldImage is an image with a count of its holders: its process, and windows whose addresses are being named. The lock
// of the Windows guards it.
type heldImage struct {
	Image
	holds int
}

func (h *heldImage) release() {
	if h.holds--; h.holds == 0 {
		h.Close()
	}
}

// dismiss ends the namer of an image, which may be in the middle of reading a file, and then releases the image.
// The lock of the Windows is held.
func (w *Windows) dismiss(h *heldImage, n *namer) {
	if n.idle() {
		n.stop()
		h.release()
		return
	}
	w.readers.Add(1)
	go func() { // ends when the file has been read; Close waits
		defer w.readers.Done()
		n.stop()
		w.mu.Lock()
		defer w.mu.Unlock()
		h.release()
	}()
}
