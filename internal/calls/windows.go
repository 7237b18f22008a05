package calls

import (
	"time"

	"ptools/internal/perfevent"
)

// A function whose probes would take too much of the target has them for some milliseconds now and then: for a window. So its calls have times, and a
// rate, which is less than without probes, because these slow the target.

const (
	windowMost  = 20 * time.Millisecond
	windowSpent = 5 * time.Millisecond  // what the probes of a window may take of the target before they are lifted
	windowEvery = 50 * time.Millisecond // at least, from the beginning of one to that of the next
)

// callCost is that of a function for this watch: where single calls, stacks or results are asked for, it is no use to count calls only.
func (w *Watch) callCost(t *Target) (counted, more time.Duration) {
	counted, more = t.callCost(w.spec.Cost)
	if w.spec.Each || w.spec.By.AtReturn() {
		counted, more = counted+more, 0
	}
	return max(counted, 1), more
}

// openWindow is the last window.
type openWindow struct {
	of   *Target // nil: there was none
	from time.Time
	hits perfevent.CallHits // of the function, before
}

// spent is what the probes of the window have taken of the target, also while they were made and lifted.
func (o *openWindow) spent(w *Watch) time.Duration {
	return w.spec.Cost.Of(w.kernel.Hits(o.of.number).Since(o.hits))
}

// open has the window of one function, if it is time for one. The windows have what the other probes leave of the limit, and in any case a part of it.
func (g *guard) open(w *Watch) {
	now := time.Now()
	if last := &g.last; last.of != nil {
		share := max(w.spec.Limit-g.standing, w.spec.Limit/4)
		if now.Before(last.from.Add(max(windowEvery, time.Duration(float64(last.spent(w))/share)))) {
			return
		}
	}
	t := g.nextWindow(w)
	if t == nil {
		return
	}
	o := openWindow{t, now, w.kernel.Hits(t.number)}
	g.last = o
	path, ends, entries := w.placesOf(t)
	lift, ok := w.kernel.Window(path, t.number, ends, entries)
	if !ok { // the text has changed meanwhile
		g.set(w, []load{{number: t.number}}, map[int]Level{t.number: Off}, time.Since(g.begun))
		return
	}
	begun := time.Now()
	o.hits = w.kernel.Hits(t.number)
	spent := time.Duration(0)
	for spent < windowSpent && time.Since(begun) < windowMost {
		time.Sleep(surveyLook)
		spent = o.spent(w)
	}
	lift()
	g.seen(w, t, time.Since(begun), spent)
}

// nextWindow returns the function of which least was seen, nil if none has windows. Of several it is one that was named.
func (g *guard) nextWindow(w *Watch) (next *Target) {
	least := time.Duration(0)
	for i, t := range w.numbered {
		c := &g.coverage[i] // only this goroutine changes it
		if c.Level != Windowed || t.Err != nil {
			continue
		}
		if next == nil || c.Counted < least || c.Counted == least && t.named && !next.named {
			next, least = t, c.Counted
		}
	}
	return next
}

// seen notes what a window has shown of a function.
func (g *guard) seen(w *Watch, t *Target, length, spent time.Duration) {
	counted, more := w.callCost(t)
	rate := spent.Seconds() / length.Seconds() / (counted + more).Seconds()
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &g.coverage[t.number]
	all := (c.windows + length).Seconds()
	c.Rate = (c.Rate*c.windows.Seconds() + rate*length.Seconds()) / all
	c.windows += length
	c.Timed += length
	c.Counted += length
	c.settle(spent.Seconds()/length.Seconds(), w.spec.Limit/4)
}

// placesOf returns the probes of a function, and the path of its file.
func (w *Watch) placesOf(t *Target) (path string, ends, entries []perfevent.CallPlace) {
	for i := range w.texts {
		p := &w.texts[i]
		for _, entry := range p.entries {
			if entry.Function == t.number {
				path, entries = p.path(), append(entries, entry)
			}
		}
		for _, end := range p.ends {
			if end.Function == t.number {
				ends = append(ends, end)
			}
		}
	}
	return path, ends, entries
}
