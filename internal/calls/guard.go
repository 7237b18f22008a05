package calls

import (
	"slices"
	"sync"
	"time"

	"ptools/internal/perfevent"
)

// While calls are counted, a goroutine looks what the probes take of the target. If that is more than the limit, probes of the functions that
// take most are lifted.

const (
	guardEvery  = 25 * time.Millisecond
	guardWindow = 100 * time.Millisecond // what may be taken in it is spent at any time
)

// A guard keeps what the probes take of the target below a limit.
type guard struct {
	begun   time.Time
	earlier time.Duration  // what the probes had taken then
	stop    chan struct{}  // closed to end the goroutine; nil: there is none
	running sync.WaitGroup // it

	from time.Time            // of the window
	last []perfevent.CallHits // of each function, at that time

	expected float64 // what timing all would take, in processors

	mu       sync.Mutex
	coverage []Coverage // of each function, by its number
	changed  []*Target  // whose levels have changed since Changed was called
	err      error
}

// Coverage returns how much of the calls of a function is seen.
func (w *Watch) Coverage(t *Target) Coverage {
	g := &w.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.number < 0 || t.number >= len(g.coverage) {
		return Coverage{}
	}
	return g.coverage[t.number]
}

// Changed returns the functions whose probes were lifted since it was called last, because they took too much of the target's time. With an error
// nothing is counted any more.
func (w *Watch) Changed() ([]*Target, error) {
	g := &w.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	changed := g.changed
	g.changed = nil
	return changed, g.err
}

// set changes levels, at a time since Begin. It reports whether any was changed.
func (g *guard) set(w *Watch, loads []load, levels map[int]Level, at time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := len(g.changed)
	for _, l := range loads {
		c := &g.coverage[l.number]
		level := levels[l.number]
		if level <= c.Level {
			continue
		}
		if c.Level == Timed {
			c.Timed = at
		}
		if level == Off {
			c.Counted = at
		}
		c.Level, c.Rate = level, l.rate
		g.changed = append(g.changed, w.numbered[l.number])
	}
	return len(g.changed) > before
}

// watch starts the goroutine, if there is a limit. End ends it, and waits for it.
func (g *guard) watch(w *Watch) {
	g.begun, g.earlier = time.Now(), w.hitCost()
	if w.spec.Limit == 0 {
		return
	}
	g.stop = make(chan struct{})
	g.last = make([]perfevent.CallHits, len(w.numbered))
	g.window(w, g.begun)
	g.running.Go(func() {
		tick := time.NewTicker(guardEvery)
		defer tick.Stop()
		for {
			select {
			case <-g.stop:
				return
			case <-tick.C:
				if !g.look(w) {
					return
				}
			}
		}
	})
}

// end ends the goroutine.
func (g *guard) end() {
	if g.stop != nil {
		close(g.stop)
		g.running.Wait()
		g.stop = nil
	}
}

// window begins a window.
func (g *guard) window(w *Watch, now time.Time) {
	g.from = now
	for i := range g.last {
		g.last[i] = w.kernel.Hits(i)
	}
}

// look lifts probes if they take too much. It returns false if nothing is counted any more.
func (g *guard) look(w *Watch) bool {
	now := time.Now()
	loads, spent := g.loads(w, now.Sub(g.from).Seconds())
	if spent <= w.spec.Limit*guardWindow.Seconds() {
		if now.Sub(g.from) >= guardWindow {
			g.window(w, now)
		}
		return true
	}
	share := spent / now.Sub(g.from).Seconds()
	if !g.set(w, loads, choose(loads, w.spec.Limit*faster(share)), now.Sub(g.begun)) {
		g.window(w, now)
		return true
	}
	if err := g.replant(w); err != nil {
		g.mu.Lock()
		g.err = err
		g.mu.Unlock()
		return false
	}
	g.window(w, time.Now())
	return true
}

// replant makes the probes anew. With an error all are lifted.
func (g *guard) replant(w *Watch) error {
	err := w.kernel.Renew()
	ends, entries := w.plant()
	if err == nil {
		err = w.counts()
	}
	w.kernel.Turn()
	if err != nil {
		w.kernel.Renew()
		w.kernel.Turn()
		return err
	}
	for level, refused := range map[Level]map[int]error{Counted: ends, Off: entries} { // the text has changed meanwhile
		for number := range refused {
			g.set(w, []load{{number: number}}, map[int]Level{number: level}, time.Since(g.begun))
		}
	}
	return nil
}

// loads returns what the probes of each function have taken in the window, in processors, and all together in seconds of one.
func (g *guard) loads(w *Watch, length float64) (loads []load, spent float64) {
	for i, t := range w.numbered {
		level := w.Coverage(t).Level
		if t.Err != nil || level == Off {
			continue
		}
		took := w.spec.Cost.Of(w.kernel.Hits(i).Since(g.last[i])).Seconds()
		spent += took
		counted, more := t.callCost(w.spec.Cost)
		if level == Counted {
			more = 0
		}
		each := (counted + more).Seconds()
		share := took / length
		loads = append(loads, load{number: i, timed: share, counted: share * counted.Seconds() / each, rate: share / each, least: level})
	}
	return loads, spent
}

// Expected returns what the probes of all functions together would take of the target, in processors, as a first look at each has told.
func (w *Watch) Expected() float64 { return w.guard.expected }

// Begun returns when Begin was called.
func (w *Watch) Begun() time.Time { return w.guard.begun }

// Taken returns how much of the target's processor time the probes have taken since Begin.
func (w *Watch) Taken() time.Duration { return w.hitCost() - w.guard.earlier }

// hitCost is what all hits have taken.
func (w *Watch) hitCost() (taken time.Duration) {
	for i := range w.numbered {
		taken += w.spec.Cost.Of(w.kernel.Hits(i))
	}
	return taken
}

// Lifted returns the functions that have no probe because they are called too often, those that are called most often first.
func (w *Watch) Lifted() []*Target {
	var lifted []*Target
	for _, t := range w.numbered {
		if w.Coverage(t).Level == Off {
			lifted = append(lifted, t)
		}
	}
	slices.SortFunc(lifted, func(a, b *Target) int { return -compareRate(w.Coverage(a).Rate, w.Coverage(b).Rate) })
	return lifted
}

func compareRate(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
