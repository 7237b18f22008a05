package calls

import (
	"slices"
	"sync"
	"time"

	"ptools/internal/perfevent"
)

// While calls are counted, a goroutine looks what the probes take of the target. If that is more than the limit, probes of the functions that
// take most are lifted. It also has the windows of functions that are called too often (windows.go), and gives probes back (raise.go).

const (
	guardEvery  = 25 * time.Millisecond
	guardWindow = 100 * time.Millisecond // what may be taken in it is spent at any time
)

// A guard keeps what the probes take of the target below a limit.
type guard struct {
	begun   time.Time
	length  time.Duration  // of the counting, when it has ended
	earlier time.Duration  // what the probes had taken then
	stop    chan struct{}  // closed to end the goroutine; nil: there is none
	running sync.WaitGroup // it

	from time.Time            // of the window
	hits []perfevent.CallHits // of each function, at that time

	expected float64 // what timing all would take, in processors
	standing float64 // what the probes took in the last window, but those of functions that have windows of their own
	last     openWindow
	raising

	mu       sync.Mutex
	coverage []cover   // of each function, by its number
	changed  []*Target // whose levels have changed since Changed was called
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
	now := g.length
	if now == 0 && !g.begun.IsZero() {
		now = time.Since(g.begun)
	}
	return g.coverage[t.number].upTo(now)
}

// Changed returns the functions whose levels have changed since it was called last: their probes took too much of the target's time, or, if the
// level is Timed, do so no more. With an error nothing is counted any more.
func (w *Watch) Changed() ([]*Target, error) {
	g := &w.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	changed := g.changed
	g.changed = nil
	return changed, g.err
}

// set changes levels to such that take less, at a time since Begin. It reports whether any was changed.
func (g *guard) set(w *Watch, loads []load, levels map[int]Level, at time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	any := false
	for _, l := range loads {
		c, level := &g.coverage[l.number], levels[l.number]
		if level <= c.Level {
			continue
		}
		any = true
		g.lowered(c, at)
		c.set(level, l.rate, at)
		g.change(w.numbered[l.number])
	}
	return any
}

// change notes that the level of a function has changed.
func (g *guard) change(t *Target) {
	if !slices.Contains(g.changed, t) {
		g.changed = append(g.changed, t)
	}
}

// watch starts the goroutine, if there is a limit. End ends it, and waits for it.
func (g *guard) watch(w *Watch) {
	g.mu.Lock()
	g.begun, g.earlier = time.Now(), w.hitCost()
	g.mu.Unlock()
	if w.spec.Limit == 0 {
		return
	}
	g.stop = make(chan struct{})
	g.hits = make([]perfevent.CallHits, len(w.numbered))
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
				g.open(w)
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
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.length == 0 && !g.begun.IsZero() {
		g.length = time.Since(g.begun)
	}
}

// window begins a window.
func (g *guard) window(w *Watch, now time.Time) {
	g.from = now
	for i := range g.hits {
		g.hits[i] = w.kernel.Hits(i)
	}
}

// look lifts probes if they take too much, and gives others back. It returns false if nothing is counted any more.
func (g *guard) look(w *Watch) bool {
	now := time.Now()
	loads, spent := g.loads(w, now.Sub(g.from).Seconds())
	share := spent / now.Sub(g.from).Seconds()
	switch {
	case spent > w.spec.Limit*guardWindow.Seconds():
		if !g.set(w, loads, choose(loads, w.spec.Limit*faster(share)), now.Sub(g.begun)) {
			g.window(w, now)
			return true
		}
	case now.Sub(g.from) < guardWindow:
		return true
	default:
		g.standing = share
		g.window(w, now)
		if !g.raise(w, loads, now) {
			return true
		}
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
	if err == nil && !w.spec.Follow { // else others may be left
		err = countsAny(w)
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
		if t.Err != nil || level >= Windowed {
			continue
		}
		took := w.spec.Cost.Of(w.kernel.Hits(i).Since(g.hits[i])).Seconds()
		spent += took
		counted, more := w.callCost(t)
		each := counted
		if level == Timed {
			each += more
		}
		rate := took / length / each.Seconds()
		loads = append(loads, load{number: i, timed: rate * (counted + more).Seconds(), counted: rate * counted.Seconds(), rate: rate, least: level})
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

// Lifted returns the functions none of whose calls was counted because they are called too often, those that are called most often first.
func (w *Watch) Lifted() []*Target {
	var lifted []*Target
	for _, t := range w.numbered {
		if c := w.Coverage(t); c.Level >= Windowed && c.Counted == 0 {
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
