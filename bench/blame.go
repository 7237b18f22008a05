package main

import (
	"context"
	"slices"
	"strconv"
	"time"

	"ptools/internal/perfevent"
)

// toolBlame is psample that blames waiting on the threads that hold the locks.
const toolBlame = "psample --blame"

// The functions of the target contend.c that hold a lock each, and those locks.
var (
	lockHolders = []string{"hold_a", "hold_b", "hold_c"}
	heldLocks   = []string{"lock_a", "lock_b", "lock_c"}
)

// contention is the seconds that threads of the target contend.c have waited, by a profile or by the target itself.
type contention struct {
	waited  []float64 // for each lock
	right   []float64 // the part that is blamed on the function that holds the lock
	wrong   float64   // blamed on another one
	free    float64   // while no thread held the lock
	unknown float64   // blamed on no thread, although one held the lock
}

// blames are the rows of waiting for three locks, blamed on the functions that hold them, against the program's own count.
func blames(ctx context.Context, l *lab, t *target) {
	window := l.window(3*time.Second, 10*time.Second)
	psample := []string{l.tool(ctx, "psample"), "-F", "99", "--blame", "-t", window.String()}
	rows := []row{
		{Name: "share error by lock", Unit: points, Goals: []goal{{AtMost: 3}}},
		{Name: "share error by holder", Unit: points, Goals: []goal{{AtMost: 3}}},
		{Name: "blamed on another function", Unit: percent, Goals: []goal{{AtMost: 1}}},
		{Name: "blamed on none, of a held lock", Unit: percent, Goals: []goal{{AtMost: 1}}},
		{Name: "stops", Unit: count, Goals: []goal{{None: true}}},
		{Name: "EINTRs", Unit: count, Goals: []goal{{None: true}}},
	}
	free := row{Name: "nobody held it", Unit: percent, Series: []series{{Tool: toolBlame, Role: ours}, {Tool: "the program's count", Role: none}}}
	values := make([][]float64, len(rows))
	s := interleave(ctx, l.repeats, []contender{{toolBlame, ours, "", func(ctx context.Context) float64 {
		before, states, interrupted := waitedIn(t), waitedWhile(t), t.page.EINTR()
		c, stops := l.blame(ctx, with(psample, "-p", strconv.Itoa(t.pid)))
		truth := since(before, waitedIn(t))
		byLock, byHolder := must(shareError(c.waited, truth)), must(shareError(c.right, truth))
		known, while := sum(c.right)+c.wrong, since(states, waitedWhile(t))
		for i, v := range []float64{byLock, byHolder, 100 * c.wrong / known, 100 * c.unknown / (known + c.unknown), stops, float64(t.page.EINTR() - interrupted)} {
			values[i] = append(values[i], v)
		}
		free.Series[0].Values = append(free.Series[0].Values, 100*c.free/(known+c.unknown+c.free))
		free.Series[1].Values = append(free.Series[1].Values, 100*while[1]/sum(while))
		return byLock
	}}})
	for i := range rows {
		rows[i].Series = []series{{toolBlame, ours, values[i], s[0].Note}}
	}
	rows[0].Note = "profiles of " + window.String()
	l.add(append(rows, free)...)
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

// waitedIn returns how many seconds the target's threads have waited for each lock, by the target's own count.
func waitedIn(t *target) (all []float64) {
	for i := range lockHolders {
		all = append(all, t.page.Spent(i, perfevent.Now()).Seconds())
	}
	return all
}

// waitedWhile returns how many seconds the target's threads have waited while some thread held the lock, and while
// none did, by the target's own count.
func waitedWhile(t *target) []float64 {
	var held, free float64
	for i := range lockHolders {
		held += float64(t.page.Share(16+i)) / 1e9
		free += float64(t.page.Share(24+i)) / 1e9
	}
	return []float64{held, free}
}

// blame profiles the target once. It also returns how often psample says that it has stopped a thread.
func (l *lab) blame(ctx context.Context, argv []string) (c contention, stops float64) {
	c.waited, c.right = make([]float64, len(heldLocks)), make([]float64, len(heldLocks))
	d, r := l.psampleSays(ctx, argv...)
	for _, s := range d.Samples {
		if s.Wait == nil || *s.Wait >= len(d.Waits) {
			fail("psample: a sample without its wait")
		}
		w := d.Waits[*s.Wait]
		i := slices.Index(heldLocks, w.Lock.Symbol)
		if i < 0 {
			continue
		}
		waited := s.Wall / 1e9
		c.waited[i] += waited
		switch {
		case w.Unknown == "nobody held it":
			c.free += waited
		case w.Unknown != "":
			c.unknown += waited
		case d.passes(s.Stack, lockHolders[i]):
			c.right[i] += waited
		default:
			c.wrong += waited
		}
	}
	return c, countOf(r, "stops")
}

// passes reports whether a function is in a stack.
func (d *document) passes(stack []int, function string) bool {
	return slices.ContainsFunc(stack, func(at int) bool {
		return at < len(d.Locations) && slices.ContainsFunc(d.Locations[at].Lines, func(n docLine) bool {
			return n.Function < len(d.Functions) && d.Functions[n.Function].Name == function
		})
	})
}

// blameSlowdown is the row of the cost of finding holders for the program whose threads wait.
func blameSlowdown(ctx context.Context, l *lab, t *target) {
	argv := l.psample(ctx, 99)
	s := &sandwich{t: t, window: l.window(500*time.Millisecond, 4*time.Second)}
	l.add(row{
		Unit: factor,
		Series: interleave(ctx, l.repeats, s.contenders([]sampler{
			{toolTimers, ours, "", untilInterrupted(argv...)},
			{toolBlame, ours, "", untilInterrupted(with(argv[:len(argv)-1], "--blame", "-p")...)},
		})),
		Goals: []goal{{Tool: toolBlame, Peers: []string{toolTimers}, AtMost: 1.01}},
	})
}

// blameCPU is the row of the processor time of the sampler itself, while a thousand threads wait for a lock and
// eight contend.
func blameCPU(ctx context.Context, l *lab, t *target) {
	argv, pid := l.psample(ctx, 99), strconv.Itoa(t.pid)
	window := l.window(time.Second, 5*time.Second)
	l.add(row{Unit: percent, Note: "of one CPU", Series: interleave(ctx, l.repeats, []contender{
		{toolTimers, ours, "", cpuShare(window, with(argv, pid)...)},
		{toolBlame, ours, "", cpuShare(window, with(argv[:len(argv)-1], "--blame", "-p", pid)...)},
	})})
}
