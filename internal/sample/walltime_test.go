package sample

import (
	"testing"
	"time"

	"ptools/internal/profile"
)

// TestWallByTheKernel: the wall column is divided by how long a thread ran, was ready and slept, however often rounds find it
// running or asleep.
func TestWallByTheKernel(t *testing.T) {
	const period, rounds, mostly, seldom = 10 * time.Millisecond, 100, 9 * time.Millisecond, time.Millisecond
	const computes, sleeps = 0x25, 0x11
	for _, c := range []struct {
		name          string
		ran, ready    time.Duration // of each period
		late          int           // it gets the processor once in so many periods
		found         func(n int) bool
		unswitched    bool // it never leaves the processor
		asleep, queue float64
	}{
		{"always found asleep", mostly, 0, 1, func(int) bool { return false }, false, 0.1, 0},
		{"found running in one round of ten", seldom, seldom, 1, func(n int) bool { return n%10 == 0 }, false, 0.8, 0.1},
		{"found running in nine rounds of ten", seldom, 0, 1, func(n int) bool { return n%10 != 0 }, false, 0.9, 0},
		{"always found running", seldom, mostly, 1, func(int) bool { return true }, false, 0, 0.9},
		{"given a processor once in ten rounds", seldom, mostly, 10, func(int) bool { return true }, true, 0, 0.9},
		{"on a processor that a hypervisor takes away", 7 * time.Millisecond, 0, 1, func(int) bool { return true }, true, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, n := newWorld(1), 0
			only := w.sortedThreads()[0]
			clock := &fakeClock{run: func(_, _ time.Duration) {
				only.spin(computes, 0x40)
				if n++; n%c.late == 0 {
					w.tick(only, c.ran*time.Duration(c.late), computes, 0x40)
					only.sched.Wait += uint64(c.ready) * uint64(c.late)
				}
				if !c.unswitched || c.late > 1 && n%c.late == 0 {
					only.sched.Slices++
				}
				if !c.found(n) {
					only.block(202, sleeps, 0x40)
				}
			}}
			s := runTicks(t, w, clock, period, rounds, nil)
			name := func(pc int) string { return string(rune('a'+pc%26)) + "1" }
			if got := share(t, s, profile.Wall, name(sleeps)); c.asleep-0.02 > got || got > c.asleep+0.02+c.queue {
				t.Errorf("%.0f %% of the wall time is where it sleeps, of which it slept %.0f %%", 100*got, 100*c.asleep)
			}
			total := s.Profile().Total()
			if total.Wall != int64(rounds*period) {
				t.Errorf("%v of wall time in %v", time.Duration(total.Wall), rounds*period)
			}
			if got := float64(total.Ready) / float64(total.Wall); got < c.queue-0.02 || got > c.queue+0.02 {
				t.Errorf("%.0f %% ready, was %.0f %%", 100*got, 100*c.queue)
			}
			if got := share(t, s, profile.Wall, name(computes)) + share(t, s, profile.Wall, name(sleeps)); got != 1 {
				t.Errorf("%.2f of the wall time is where it was", got)
			}
		})
	}
}

// TestWallWhereItRan: the time that a thread ran is where it ran then, though each round finds it asleep in one stack.
func TestWallWhereItRan(t *testing.T) {
	const period, rounds, ran = 10 * time.Millisecond, 100, 9 * time.Millisecond
	const first, second, sleeps = 0x25, 0x27, 0x11
	w, n := newWorld(1), 0
	only := w.sortedThreads()[0]
	clock := &fakeClock{run: func(_, _ time.Duration) {
		place := uint64(first)
		if n++; n > 70 {
			place = second
		}
		w.tick(only, ran, place, 0x40)
		only.block(202, sleeps, 0x40)
	}}
	s := runTicks(t, w, clock, period, rounds, nil)
	for place, want := range map[int]float64{first: 0.63, second: 0.27, sleeps: 0.1} {
		if got := share(t, s, profile.Wall, string(rune('a'+place%26))+"1"); got < want-0.02 || got > want+0.02 {
			t.Errorf("%#x: %.0f %% of the wall time, not %.0f %%", place, 100*got, 100*want)
		}
	}
}
