package sample

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"ptools/internal/profile"
	"ptools/internal/sample"
	"ptools/internal/source"
	"ptools/pctl"
)

// SamplerOptions are options of Open. Nil means the zero value.
type SamplerOptions struct {
	// Period is the time between samples of a thread; zero: 99 samples a second.
	Period time.Duration
	// Timers says how running threads are sampled; zero: TimersAuto.
	Timers Timers
	// Lines resolves addresses to source lines and inlined functions.
	Lines bool
	// Patience is how long a Window that has ended waits for the names of functions. A function that has no name by then
	// stays without. Zero: until all are known. The first reading of the symbols of a large program takes seconds.
	Patience time.Duration
}

// A Sampler profiles any number of processes for any number of clients at the same time. Their windows may overlap: each
// process is sampled once for all clients, and is not sampled while it has no window. Its methods may be called from any
// goroutine.
//
// With timers, sampling processor time costs nothing while the process does not run. For wall time a process is
// sampled in rounds; without timers, for processor time as well. Without timers the process is under control
// meanwhile, and can have no other tracer.
type Sampler struct {
	o       SamplerOptions
	session *pctl.Session
	files   *source.Files
	windows *sample.Windows // nil: there are no timers
	why     error           // why there are none

	ctx    context.Context // done when the Sampler is closed
	cancel context.CancelFunc

	mu      sync.Mutex
	rounds  map[*rounds]bool
	current map[int]*rounds // by process: the rounds in which windows are opened
	past    sample.Cost     // of rounds that are over
	stopped map[int]*stops  // by process
	closed  bool
	ending  sync.WaitGroup // of rounds

	creators creators
	lacks    lacks
}

// Open makes a Sampler.
func Open(o *SamplerOptions) (*Sampler, error) {
	s := &Sampler{rounds: make(map[*rounds]bool), current: make(map[int]*rounds)}
	if o != nil {
		s.o = *o
	}
	if s.o.Period <= 0 {
		s.o.Period = sample.DefaultPeriod
	}
	s.files = source.NewFiles()
	if s.o.Timers == TimersOff {
		s.why = errors.New("timers are not to be used")
	} else if s.windows, s.why = sample.OpenWindows(s.windowsOptions()); s.why != nil && s.o.Timers == TimersOnly {
		s.files.Close()
		return nil, s.why
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.session = pctl.NewSession(&pctl.SessionOptions{CacheLimit: -1})
	return s, nil
}

func (s *Sampler) windowsOptions() sample.WindowsOptions {
	return sample.WindowsOptions{Period: s.o.Period, Files: s.files, Lines: s.o.Lines, Patience: s.o.Patience}
}

// Stops returns why threads are stopped to sample them; nil if they are not.
func (s *Sampler) Stops() error { return s.why }

// Period is the time between samples of a thread that runs.
func (s *Sampler) Period() time.Duration { return s.o.Period }

// longestClose bounds how long Close waits for processes whose memory or files do not answer, or whose symbols are being
// read.
const longestClose = time.Second

// Close ends the sampling. It waits until all windows are closed, but no longer than a second: what a process keeps waiting
// goes on until it answers, or this program ends.
func (s *Sampler) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	closed := make(chan error, 1)
	go func() { // ends within a second
		if s.windows != nil {
			closed <- s.windows.Close()
		}
		close(closed)
	}()
	over := make(chan struct{})
	go func() { // ends with the last rounds
		defer close(over)
		s.ending.Wait()
	}()
	select {
	case <-over:
	case <-time.After(longestClose):
	}
	err := errors.Join(<-closed, s.session.Close())
	s.files.Close()
	return err
}

// What says what a Window measures.
type What uint8

const (
	// CPU is processor time.
	CPU What = iota
	// Wall is the time of all threads, also of waiting ones, and processor time.
	Wall
)

// A Window is a length of time in which a process is sampled.
type Window struct {
	end    func() (*profile.Profile, error)
	cancel func()
	next   func(ctx context.Context) (*Window, error)
	once   sync.Once
}

// Begin opens a window of a process. End or Cancel must close it. If the process cannot be sampled, the error is
// that of pctl's Session.Grab.
func (s *Sampler) Begin(ctx context.Context, pid int, what What) (*Window, error) {
	if what == CPU && s.windows != nil {
		w, err := s.windows.Begin(pid)
		if err != nil {
			return nil, s.refusal(ctx, pid, err)
		}
		return s.timed(pid, w), nil
	}
	r, err := s.acquire(pid)
	if err != nil {
		return nil, err
	}
	return s.inRounds(r, what, r.sampler.Begin()), nil
}

// timed is a window of processor time by timers.
func (s *Sampler) timed(pid int, w *sample.Window) *Window {
	next := func(ctx context.Context) (*Window, error) {
		n, err := w.Next()
		if err != nil {
			return nil, s.refusal(ctx, pid, err)
		}
		return s.timed(pid, n), nil
	}
	return &Window{end: w.End, cancel: w.Cancel, next: next}
}

// inRounds is a window of rounds. It counts as one of their users.
func (s *Sampler) inRounds(r *rounds, what What, w *sample.RoundsWindow) *Window {
	next := func(ctx context.Context) (*Window, error) {
		n := w.Next()
		if n == nil {
			return s.Begin(ctx, r.pid, what)
		}
		s.mu.Lock()
		r.users++
		s.mu.Unlock()
		return s.inRounds(r, what, n), nil
	}
	return &Window{
		end:    func() (*profile.Profile, error) { defer s.release(r); return w.End(s.o.Patience) },
		cancel: func() { defer s.release(r); w.Cancel() },
		next:   next,
	}
}

// refusal returns the error of a grab for a process that cannot be sampled, or err if a grab has none.
func (s *Sampler) refusal(ctx context.Context, pid int, err error) error {
	p, refused := s.session.Grab(ctx, pid, &pctl.GrabOptions{ReadOnly: true})
	if refused != nil {
		return refused
	}
	p.Close()
	return err
}

// End closes the window and returns its profile. If it returns a profile together with an error, the profile has what was
// sampled until then. For a closed window it returns os.ErrClosed.
func (w *Window) End() (p *Profile, err error) {
	err = os.ErrClosed
	w.once.Do(func() {
		var taken *profile.Profile
		if taken, err = w.end(); taken != nil {
			p = &Profile{p: taken}
		}
	})
	return p, err
}

// Next opens the window that follows. w ends at the moment at which the next window begins, so every sample is in
// exactly one of the two. w must still be closed; its End returns what came until that moment. If Next returns an
// error, w continues. Next must not be called twice, nor after End or Cancel.
//
// In rounds whose profile has become large, once in some 65,000 different stacks, w continues until it is closed.
func (w *Window) Next(ctx context.Context) (*Window, error) { return w.next(ctx) }

// Cancel closes the window.
func (w *Window) Cancel() { w.once.Do(w.cancel) }

// Take samples a process for d. It is an error if ctx is done earlier.
func (s *Sampler) Take(ctx context.Context, pid int, what What, d time.Duration) (*Profile, error) {
	w, err := s.Begin(ctx, pid, what)
	if err != nil {
		return nil, err
	}
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
		return w.End()
	case <-ctx.Done():
		w.Cancel()
		return nil, ctx.Err()
	}
}

// SamplerStats is what a Sampler has done since it was opened.
type SamplerStats struct {
	Sampled int   // processes that are sampled now
	Samples int64 // taken by timers, and in rounds
	Lost    int64 // records of timers for which there was no room
	Stops   int64 // threads stopped
	Pauses  time.Duration
	Longest time.Duration // pause
}

// Moved returns when the buffers of the timers were last read. It is zero while nothing is sampled by timers. It never
// waits, and may be called from any goroutine.
func (s *Sampler) Moved() time.Time {
	if s.windows == nil {
		return time.Time{}
	}
	return s.windows.Moved()
}

// Stats returns what has been done so far.
func (s *Sampler) Stats() SamplerStats {
	s.mu.Lock()
	cost, running, sampled := s.past, slices.Collect(maps.Keys(s.rounds)), 0
	for _, r := range running {
		if r.users > 0 { // else it is ending
			sampled++
		}
	}
	s.mu.Unlock()
	for _, r := range running {
		select {
		case <-r.ready:
		default:
			continue
		}
		if r.sampler != nil {
			c := r.sampler.Cost()
			cost.Add(&c)
		}
	}
	if s.windows != nil {
		c := s.windows.Cost()
		cost.Add(&c)
		sampled += s.windows.Processes()
	}
	return SamplerStats{
		Sampled: sampled, Samples: cost.Samples + cost.Ticks, Lost: cost.Lost, Stops: cost.Stops,
		Pauses: cost.TotalPause, Longest: cost.LongestPause,
	}
}
