package sample

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"ptools/internal/profile"
	"ptools/internal/source"
)

// Rounds samples one process in rounds for any number of clients, each in a window of time of its own. One sampler serves
// them all. It is for wall time, which Windows do not have, and for machines without timers, where threads are stopped.
type Rounds struct {
	pid     int
	sampler *Sampler
	began   time.Time
	cancel  context.CancelFunc
	done    chan struct{} // closed when the sampling has ended

	mu    sync.Mutex
	asked []request
	at    time.Time // when the last round began: until then time is counted
	over  bool      // sampling has ended: the profile belongs to the goroutine that holds mu
	err   error     // why it has ended, if the process has not

	cost atomic.Pointer[Cost] // after the last round; nil before it
}

// request is a function that the sampling goroutine calls after the first round that begins after a moment.
type request struct {
	when time.Time
	f    func()
}

// StartRounds begins to sample a process. Stop ends it.
func StartRounds(of *source.Process, o Options) *Rounds {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Rounds{pid: of.PID, began: time.Now(), cancel: cancel, done: make(chan struct{})}
	o.Marked, o.Progress = true, func(p *Progress) { r.serve(p, false) }
	r.sampler = New([]*source.Process{of}, &o)
	go r.run(ctx) // ended and awaited by Stop
	return r
}

func (r *Rounds) run(ctx context.Context) {
	defer close(r.done)
	err := r.sampler.Run(ctx)
	r.mu.Lock()
	r.err = err
	r.mu.Unlock()
	r.serve(nil, true)
}

// serve calls the functions that were asked for, after a round or, with over, after the last. A round counts the time until it
// begins. So one that was under way when a function was asked for does not do.
func (r *Rounds) serve(p *Progress, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.over, r.at = over, now
	cost := r.sampler.cost
	r.cost.Store(&cost)
	if !over {
		r.at = now.Add(-now.Sub(r.sampler.profile.Start.Add(p.Elapsed))) // by the clock of now: it may have been set since Start
	}
	early := r.asked[:0]
	for _, a := range r.asked {
		if over || a.when.Before(r.at) {
			a.f()
		} else {
			early = append(early, a)
		}
	}
	r.asked = early
}

// do has f called between two rounds, of which the first begins after this call, or after the last.
func (r *Rounds) do(f func()) {
	r.mu.Lock()
	if r.over {
		f()
		r.mu.Unlock()
		return
	}
	done := make(chan struct{})
	r.asked = append(r.asked, request{time.Now(), func() { f(); close(done) }})
	r.mu.Unlock()
	<-done
}

// Stop ends the sampling. There are no windows.
func (r *Rounds) Stop() {
	r.sampler.unwanted.Store(true)
	r.cancel()
	<-r.done
}

// Aged reports whether windows should be opened elsewhere, because the profile has become large or the process has
// ended.
func (r *Rounds) Aged() (aged bool) {
	r.do(func() { aged = r.aged() })
	return aged
}

func (r *Rounds) aged() bool { return r.over || r.sampler.profile.Size() > mostKept }

// Cost returns what the sampling had cost after the last round. It never waits.
func (r *Rounds) Cost() Cost {
	if cost := r.cost.Load(); cost != nil {
		return *cost
	}
	return Cost{}
}

// A RoundsWindow is a length of time in which a process is sampled.
type RoundsWindow struct {
	rounds *Rounds
	mark   *profile.Mark
	began  time.Time
	base   time.Duration           // processor time of the process at that time
	past   int64                   // rounds at that time
	cost   Cost                    // at that time
	read   profile.GoroutineRounds // at that time

	taken *profile.Profile // nil: the window is open
	err   error            // why sampling has ended early
}

// Begin opens a window. End or Cancel must be called.
func (r *Rounds) Begin() *RoundsWindow {
	var w *RoundsWindow
	r.do(func() {
		r.flush()
		w = r.window(r.at)
	})
	return w
}

// window opens a window that begins at a moment. It is called between two rounds.
func (r *Rounds) window(now time.Time) *RoundsWindow {
	s := r.sampler
	return &RoundsWindow{rounds: r, mark: s.profile.Mark(), began: now, base: s.processes[0].spending.total, past: s.sched.taken, cost: s.cost,
		read: s.profile.Goroutines}
}

// Next closes the window and opens one that begins at the same moment, however late the round comes in which that is
// done. w must still be ended. If windows should be opened elsewhere (Aged), Next returns nil, and w continues.
func (w *RoundsWindow) Next() (next *RoundsWindow) {
	r := w.rounds
	r.do(func() {
		if !r.aged() {
			next = r.window(w.close())
		}
	})
	return next
}

// close sets taken. It returns the moment at which the window ends. It is called between two rounds.
func (w *RoundsWindow) close() (now time.Time) {
	r, s, p := w.rounds, w.rounds.sampler, profile.New()
	r.flush()
	now = r.at
	p.Start, p.Duration, p.Period = w.began, now.Sub(w.began), s.opt.Period
	p.Rounds, p.Means = s.sched.taken-w.past, s.means(&w.cost)
	p.Goroutines = s.profile.Goroutines.Since(w.read)
	w.mark.AddTo(p)
	w.mark.Release()
	reconcile(p, r.pid, s.processes[0].spending.total-w.base, s.tickPeriod(), s.mostStretch())
	w.taken, w.err = p, r.err
	return now
}

// flush counts the pending samples. It belongs to the sampling goroutine.
func (r *Rounds) flush() {
	for _, p := range r.sampler.processes {
		p.account.flush()
		for _, t := range p.roster.threads {
			p.spending.divide(t)
		}
		p.spending.keep()
	}
}

// End closes the window and returns its profile, resolved. patience is as in WindowsOptions. The error says
// why sampling has ended before the process.
func (w *RoundsWindow) End(patience time.Duration) (*profile.Profile, error) {
	if w.taken == nil { // set by this client
		w.rounds.do(func() { w.close() })
	}
	nameWithin(w.taken, w.rounds.pid, patience, func() {})
	return w.taken, w.err
}

// Cancel closes the window.
func (w *RoundsWindow) Cancel() {
	if w.taken == nil {
		w.rounds.do(w.mark.Release)
	}
}
