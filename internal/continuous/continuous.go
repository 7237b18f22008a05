// Package continuous samples all targets all the time, and pushes a profile of each target for each interval.
//
// The window of a target begins at the moment at which the last one ends. So nothing is lost between two profiles,
// and nothing is in both. The intervals of different targets begin at different times. That spreads the work for
// names and encoding, and the load of the server, over the interval.
package continuous

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"ptools/pctl/push"
	"ptools/pctl/sample"
	"ptools/pctl/targets"
)

// DefaultInterval is the default length of a profile.
const DefaultInterval = 15 * time.Second

// Targets are the processes to sample; *targets.Watcher implements it.
type Targets interface {
	Targets() []*targets.Target
}

// A Loop samples and pushes.
type Loop struct {
	Sampler  *sample.Sampler
	Targets  Targets
	Pusher   *push.Pusher
	Interval time.Duration // zero: DefaultInterval
	// Failed is called once for each target that cannot be sampled.
	Failed func(t *targets.Target, err error)

	windows    map[string]*window
	ending     sync.WaitGroup // of windows
	unsampled  atomic.Int64   // targets
	unprepared atomic.Int64   // profiles that could not be encoded
	moved      atomic.Int64   // when the last round ended, by time.Now; 0 unless Run runs
}

// window is the present window of a target.
type window struct {
	target *targets.Target
	open   *sample.Window // nil: the target could not be sampled
	due    time.Time
	seen   bool // the target was in the last list of targets
}

// look is the time between two looks for new targets, and how late an interval may end.
const look = time.Second

// Run samples until ctx is done, and then pushes what was sampled until then. The caller has to close the Pusher
// and the Sampler.
func (l *Loop) Run(ctx context.Context) {
	if l.Interval <= 0 {
		l.Interval = DefaultInterval
	}
	l.windows = make(map[string]*window)
	l.moved.Store(time.Now().UnixNano())
	defer l.moved.Store(0)
	tick := time.NewTicker(min(look, l.Interval))
	defer tick.Stop()
	for {
		l.round(ctx, time.Now())
		l.moved.Store(time.Now().UnixNano())
		select {
		case <-tick.C:
		case <-ctx.Done():
			for _, w := range l.windows {
				l.finish(w.open, w.target)
			}
			l.ending.Wait()
			return
		}
	}
}

// Moved returns when the last round of Run ended, or Run began. It is zero unless Run runs. It never waits.
func (l *Loop) Moved() time.Time {
	if at := l.moved.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// Unsampled returns how many targets cannot be sampled now.
func (l *Loop) Unsampled() int64 { return l.unsampled.Load() }

// Unprepared returns how many profiles have been dropped because they could not be encoded.
func (l *Loop) Unprepared() int64 { return l.unprepared.Load() }

// round opens, renews and closes windows.
func (l *Loop) round(ctx context.Context, now time.Time) {
	for _, t := range l.Targets.Targets() {
		w, ok := l.windows[t.ID()]
		if !ok {
			// The first interval is shorter by a random part, so that targets which came together end their
			// intervals at different times.
			w = &window{due: now.Add(l.Interval/4 + rand.N(l.Interval*3/4))}
			l.windows[t.ID()] = w
			w.target = t
			l.begin(ctx, w, true)
		} else if !now.Before(w.due) {
			last := w.open
			of := w.target
			w.target, w.due = t, w.due.Add(l.Interval)
			if w.due.Before(now) { // psampled was stopped, or got no processor
				w.due = now.Add(l.Interval)
			}
			l.begin(ctx, w, last != nil)
			l.finish(last, of)
		}
		w.seen = true
	}
	unsampled := int64(0)
	for id, w := range l.windows {
		switch {
		case !w.seen:
			l.finish(w.open, w.target)
			delete(l.windows, id)
		case w.open == nil && w.target.Alive(): // the list of targets may still have one that has ended
			unsampled++
		}
		w.seen = false
	}
	l.unsampled.Store(unsampled)
}

// begin opens a window, which follows the last one if there is one. If tell is set it reports a failure: once
// for each target that is not sampled.
func (l *Loop) begin(ctx context.Context, w *window, tell bool) {
	var err error
	if last := w.open; last != nil {
		w.open, err = last.Next(ctx)
	} else {
		w.open, err = l.Sampler.Begin(ctx, w.target.PID, sample.CPU)
	}
	if err != nil {
		w.open = nil
		if tell && ctx.Err() == nil && w.target.Alive() && l.Failed != nil {
			l.Failed(w.target, err)
		}
	}
}

// finish closes a window and pushes its profile. Stacks and names of the process may come late. Nothing waits for that but
// the end of Run, and each window waits for a bounded time.
func (l *Loop) finish(open *sample.Window, of *targets.Target) {
	if open != nil {
		l.ending.Go(func() { l.push(open, of) }) // awaited by Run
	}
}

// push pushes the profile of a window. A profile that comes together with an error has what was sampled until then.
func (l *Loop) push(open *sample.Window, of *targets.Target) {
	p, _ := open.End()
	if p == nil {
		return
	}
	data := p.Engine(sample.CPU)
	if len(data.Sample) == 0 {
		return // an idle process has no profile
	}
	if err := l.Pusher.Push(push.Profile{Name: "process_cpu", Labels: of.Labels(), Data: data}); err != nil {
		l.unprepared.Add(1)
	}
}
