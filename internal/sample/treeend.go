package sample

import (
	"math"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/profile"
	"ptools/internal/source"
)

// finish completes the profile of the tree.
func (t *tree) finish() {
	now := perfevent.Now()
	for _, e := range t.ends {
		t.strays.add(&e)
	}
	t.countStrays(true)
	for _, list := range t.dead {
		for _, k := range list {
			k.final = k.final || k.last != 0
			t.bury(k)
		}
	}
	for _, k := range t.living {
		t.leave(k, now)
	}
	for range cap(t.closers) { // then all that were being closed are closed
		t.closers <- struct{}{}
	}
	t.names.namer.stop()
	t.reconcile()
	f := &t.sampler.cost.Followed
	f.NoRoom = t.ticks.NoRoom()
	f.Unread = t.files.lost
}

// leave ends the sampling of a living process, or of a source.
func (t *tree) leave(k *kin, now time.Duration) {
	if t.births != nil {
		k.readName()
	}
	switch p := k.proc; {
	case k.source && !k.final:
		k.used, k.before, k.final = p.spending.usedTotal(), 0, true
	case !k.final:
		if used, err := source.ProcessorTime(k.pid); err == nil {
			k.used, k.final = used-k.clock+k.before, true
		}
	}
	if k.proc != nil && !k.source {
		k.proc.account.close()
		t.unlook(k)
	}
	t.bury(k)
}

// reconcile stretches the processor time that was counted to the kernel's figure, as for a process (reconcile.go).
// Processes that were met often are reconciled one by one, the others together with those of the same name.
func (t *tree) reconcile() {
	p, period := t.sampler.profile, int64(t.ticks.Period())
	processes := p.Processes()
	counted := p.Sums(len(processes), func(id profile.ThreadID) int { return int(p.ProcessOf(id)) - 1 })
	groups := make([]int, len(processes))
	var totals []int64
	var first []int // a process of each group
	byName := make(map[string]int)
	for i, q := range processes {
		if t.lives[profile.ProcessID(i+1)].source {
			groups[i] = -1 // its own reconcile has been called
			continue
		}
		g := len(totals)
		if counted[i] < firmTicks*period {
			if same, ok := byName[q.Command]; ok {
				g = same
			} else {
				byName[q.Command] = g
			}
		}
		if g == len(totals) {
			totals, first = append(totals, 0), append(first, i)
		}
		groups[i] = g
		totals[g] += int64(q.CPU)
	}
	group := func(id profile.ThreadID) int {
		if of := p.ProcessOf(id); of != 0 {
			return groups[of-1]
		}
		return -1
	}
	sums := p.Sums(len(totals), group)
	lacks := make(map[int]int64) // by process
	for g, sum := range sums {
		chance := 4*math.Sqrt(float64(sum)*float64(period)) + 4*float64(period)
		most := int64(float64(sum)*maxStretch + chance)
		if sum == 0 {
			most = 0
		}
		if lack := totals[g] - most; lack > 0 {
			totals[g] = most
			lacks[first[g]] = lack
		}
	}
	p.Apportion(totals, group)
	for i, ns := range lacks {
		id := p.ThreadOf(profile.ProcessID(i+1), 0, "[not sampled]")
		cell, life := t.space.Cell(id, t.space.Push(0, t.sampler.unsampled())), t.lives[profile.ProcessID(i+1)]
		t.space.AddDuring(cell, profile.Values{CPU: ns}, max(life.born-t.start, 0), life.died-t.start, false)
	}
}
