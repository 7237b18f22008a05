// Package continuous has all targets sampled all the time, and what was seen of each in every interval pushed.
//
// The window of a target begins at the moment at which the last one ends, so that nothing lies between two profiles,
// and nothing is in both. The intervals of different targets begin at different times, which spreads the work of
// names and encoding, and what the server gets, over the interval.
package continuous

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"ptools/pctl/push"
	"ptools/pctl/sample"
	"ptools/pctl/targets"
)

// DefaultInterval is how long a profile is.
const DefaultInterval = 15 * time.Second

// Targets are the processes; *targets.Watcher has them.
type Targets interface {
	Targets() []*targets.Target
}

// A Loop samples and pushes.
type Loop struct {
	Sampler  *sample.Sampler
	Targets  Targets
	Pusher   *push.Pusher
	Interval time.Duration // zero: DefaultInterval
	// Failed is told once of each target that cannot be sampled.
	Failed func(t *targets.Target, err error)

	windows    map[string]*window
	unsampled  atomic.Int64 // targets
	unprepared atomic.Int64 // profiles that could not be encoded
}

// window is a target's.
type window struct {
	target *targets.Target
	open   *sample.Window // nil: the target could not be sampled
	due    time.Time
	seen   bool // in the last look at the targets
}

// look is how often new targets are looked for, and how late an interval may end.
const look = time.Second

// Run goes on until ctx is done, and pushes then what has been seen until now. The Pusher and the Sampler are the
// caller's to close.
func (l *Loop) Run(ctx context.Context) {
	if l.Interval <= 0 {
		l.Interval = DefaultInterval
	}
	l.windows = make(map[string]*window)
	tick := time.NewTicker(min(look, l.Interval))
	defer tick.Stop()
	for {
		l.round(ctx, time.Now())
		select {
		case <-tick.C:
		case <-ctx.Done():
			for _, w := range l.windows {
				l.finish(w)
			}
			return
		}
	}
}

// Unsampled returns how many targets cannot be sampled now.
func (l *Loop) Unsampled() int64 { return l.unsampled.Load() }

// Unprepared returns how many profiles have been dropped because they could not be encoded.
func (l *Loop) Unprepared() int64 { return l.unprepared.Load() }

// round opens, exchanges and closes windows.
func (l *Loop) round(ctx context.Context, now time.Time) {
	for _, t := range l.Targets.Targets() {
		w, ok := l.windows[t.ID()]
		if !ok {
			// The first interval is a part of one, so that targets which came together part.
			w = &window{due: now.Add(l.Interval/4 + rand.N(l.Interval*3/4))}
			l.windows[t.ID()] = w
			w.target = t
			l.begin(ctx, w, true)
		} else if !now.Before(w.due) {
			last := *w
			w.target, w.due = t, w.due.Add(l.Interval)
			if w.due.Before(now) { // psampled was stopped, or starved
				w.due = now.Add(l.Interval)
			}
			l.begin(ctx, w, last.open != nil)
			l.finish(&last)
		}
		w.seen = true
	}
	unsampled := int64(0)
	for id, w := range l.windows {
		switch {
		case !w.seen:
			l.finish(w)
			delete(l.windows, id)
		case w.open == nil && w.target.Alive(): // the list of targets may not know yet that one has ended
			unsampled++
		}
		w.seen = false
	}
	l.unsampled.Store(unsampled)
}

// begin opens a window, the one after the last if there is one. A failure is told if tell is set: once for each
// target that is not sampled.
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

// finish closes a window and pushes its profile. A profile may come together with an error: what was seen until then.
func (l *Loop) finish(w *window) {
	if w.open == nil {
		return
	}
	p, _ := w.open.End()
	if p == nil {
		return
	}
	data := p.Engine(sample.CPU)
	if len(data.Sample) == 0 {
		return // an idle process has no profile
	}
	if err := l.Pusher.Push(push.Profile{Name: "process_cpu", Labels: w.target.Labels(), Data: data}); err != nil {
		l.unprepared.Add(1)
	}
}
