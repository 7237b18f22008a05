package calls

import (
	"cmp"
	"slices"
	"time"
)

// A function that lost its probes gets them back when it has been called less often for a while. A new set of probes is made for that, so it is not done
// often, and ever less often where functions lose them again.

const (
	calmFor    = 10 // looks, or windows
	raiseFirst = time.Second
	raiseMost  = time.Minute
)

// raising says when probes are given back.
type raising struct {
	patience time.Duration // from one time to the next; 0: raiseFirst
	later    time.Time     // not before
}

// settle notes what timing a function would take, in processors, and whether that is little.
func (c *cover) settle(share, little float64) {
	c.share = share
	if c.calm++; share > little {
		c.calm = 0
	}
}

// lowered notes that a function loses its probes.
func (g *guard) lowered(c *cover, now time.Duration) {
	if c.raised {
		g.patience = min(2*max(g.patience, raiseFirst), raiseMost)
		g.later = g.begun.Add(now + g.patience)
	}
}

// raise has functions timed again whose calls have become few. It reports whether there are any.
func (g *guard) raise(w *Watch, loads []load, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	room := w.spec.Limit/2 - g.standing
	for _, l := range loads {
		if c := &g.coverage[l.number]; c.Level == Counted {
			c.settle(l.timed-l.counted, room)
		}
	}
	if now.Before(g.later) {
		return false
	}
	var calm []int
	for i := range g.coverage {
		if c := &g.coverage[i]; (c.Level == Counted || c.Level == Windowed) && c.calm >= calmFor && w.numbered[i].Err == nil {
			calm = append(calm, i)
		}
	}
	slices.SortFunc(calm, func(a, b int) int { return cmp.Compare(g.coverage[a].share, g.coverage[b].share) })
	any := false
	for _, i := range calm {
		c := &g.coverage[i]
		if room -= c.share; room < 0 {
			break
		}
		w.kernel.Follow(i)
		c.set(Timed, c.Rate, now.Sub(g.begun))
		c.raised, any = true, true
		g.change(w.numbered[i])
	}
	if any {
		g.patience = max(g.patience, raiseFirst)
		g.later = now.Add(g.patience)
	}
	return any
}
