package sample

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/source"
)

// A Window is a length of time in which the processor time of a process is measured.
type Window struct {
	windows *Windows
	process *timed
	began   time.Time
	base    time.Duration // processor time of the process at that time

	// marks belongs to the goroutine that works off the process's backlog.
	marks []*profile.Mark // one in each profile of the process since the window was opened

	// The rest is under the lock of windows.
	over   bool // the window is closed, or Next has closed it
	length time.Duration
	used   time.Duration // processor time of the process in it
	result *result       // nil: the window is open, or its process is behind
	done   chan struct{} // closed when result is set
	left   bool          // nobody asks for the result any more
}

// result is the result of a window that is over.
type result struct {
	profile *profile.Profile
	images  []*heldImage // images that have the names
	err     error
}

// errBehind is the error of a window whose ticks could not be turned into stacks in time.
var errBehind = errors.New("its memory or its files do not answer in time: there are no stacks")

// Begin opens a window of a process. End or Cancel must be called.
func (w *Windows) Begin(pid int) (*Window, error) {
	stat, err := procfs.ReadStat(pid)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drain() // earlier ticks do not count
	s, err := w.admit(pid, &stat, err)
	if err != nil {
		return nil, err
	}
	s.readCPU(false)
	return s.window(time.Now()), nil
}

// window opens a window that begins now. The lock of the Windows is held.
func (s *timed) window(now time.Time) *Window {
	n := &Window{windows: s.w, process: s, began: now, base: s.cpu, done: make(chan struct{})}
	s.users++
	s.do(func() {
		n.marks = []*profile.Mark{s.profile.Mark()}
		s.windows[n] = true
	})
	return n
}

// Next closes the window and opens one that begins at the same moment, whatever the machine does meanwhile: each tick
// is in one of the two. n must still be ended. If Next returns an error, n continues.
func (n *Window) Next() (*Window, error) {
	w, s := n.windows, n.process
	other := s.other()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return nil, os.ErrClosed
	case other:
		return nil, syscall.ESRCH
	}
	now := n.close(false)
	return s.window(now), nil
}

// End closes the window and returns its profile, resolved. Either End or Cancel must be called, once.
// If the process's ticks have not been worked off in time, the profile has its processor time without stacks,
// and the error says so.
func (n *Window) End() (*profile.Profile, error) {
	began := time.Now()
	t := n.take()
	patience := n.windows.patience
	if patience > 0 {
		patience = max(patience-time.Since(began), time.Nanosecond)
	}
	nameWithin(t.profile, n.process.pid, patience, func() { n.leave(t.images) })
	return t.profile, t.err
}

// nameWithin resolves a profile of a process. Reading the symbols of a file may take seconds. Only this caller waits for that,
// and no longer than d unless d is zero; an address that is not resolved by then has no name. Names are looked up
// as soon as an address is met. So the wait is long only for the first, short windows of programs with very many
// symbols. over is called when nothing is looked up any more, which may be later.
func nameWithin(p *profile.Profile, pid int, d time.Duration, over func()) {
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
		done, stop := make(chan struct{}), make(chan struct{})
		users.Add(1)
		go func() { // ends when the present file has been read
			queue := queueOf(pid)
			defer close(done)
			defer leave()
			defer queue.leave()
			for _, prepare := range todo.Prepare {
				if !queue.do(stop, prepare) {
					return
				}
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
			close(stop)
		}
	}
	todo.Resolve(int(ready.Load()))
}

// Cancel closes the window.
func (n *Window) Cancel() {
	w := n.windows
	other := n.process.other()
	w.mu.Lock()
	if !n.over {
		n.close(other)
	}
	n.left = true
	var images []*heldImage
	if n.result != nil {
		images = n.result.images
	}
	w.mu.Unlock()
	n.leave(images)
}

// take closes the window, unless Next has, and returns what it has counted.
func (n *Window) take() *result {
	w := n.windows
	other := n.process.other()
	w.mu.Lock()
	if !n.over {
		n.close(other)
	}
	w.mu.Unlock()
	var late <-chan time.Time
	if w.patience > 0 {
		late = time.After(w.patience)
	}
	select {
	case <-n.done:
		return n.result
	case <-late:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.result == nil {
		n.left = true
		p := n.empty()
		reconcile(p, n.process.pid, n.used, p.Period, maxStretch)
		n.result = &result{profile: p, err: errBehind}
	}
	return n.result
}

// close closes the window, and has the result made when the ticks until now have been worked off. It returns the moment at
// which the window ends. other says that the number is another process's now. The lock of the Windows is held.
func (n *Window) close(other bool) (now time.Time) {
	w, s := n.windows, n.process
	w.drain()
	s.readCPU(other)
	now = time.Now()
	n.over, n.length, n.used = true, now.Sub(n.began), s.cpu-n.base
	s.do(n.conclude)
	return now
}

// empty returns the profile of the window, without what was counted.
func (n *Window) empty() *profile.Profile {
	p := profile.New()
	p.Start, p.Duration, p.Period = n.began, n.length, n.windows.ticks.Period()
	return p
}

// conclude makes the result. It belongs to the goroutine that works off the backlog, in which it comes after the ticks of
// the window.
func (n *Window) conclude() {
	w, s := n.windows, n.process
	p := n.empty()
	for _, m := range n.marks {
		m.AddTo(p)
		m.Release()
	}
	delete(s.windows, n)
	err := s.err
	if p.Total() != (profile.Values{}) {
		err = nil // what was sampled counts
	}
	reconcile(p, s.pid, n.used, p.Period, maxStretch)
	images := s.images()
	w.mu.Lock()
	if !n.left {
		n.result, images = &result{p, images, err}, nil
		close(n.done)
	}
	w.mu.Unlock()
	releaseImages(images)
}

// leave releases what the window holds.
func (n *Window) leave(images []*heldImage) {
	w, s := n.windows, n.process
	releaseImages(images)
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.users--; s.users == 0 && w.processes[s.pid] == s {
		delete(w.processes, s.pid)
		w.sampled.Add(-1)
		w.drop(s.pid)
		s.do(s.close)
	}
}

// heldImage is an image with a count of its holders: its process, and windows whose addresses are being named.
type heldImage struct {
	source.Image
	holds atomic.Int32
}

func holdImage(image source.Image) *heldImage {
	h := &heldImage{Image: image}
	h.holds.Store(1)
	return h
}

func (h *heldImage) release() {
	if h.holds.Add(-1) == 0 {
		h.Close()
	}
}

func releaseImages(images []*heldImage) {
	for _, h := range images {
		h.release()
	}
}
