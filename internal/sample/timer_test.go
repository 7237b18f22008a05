package sample

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/profile"
)

// fakeTimers are those of a world in which they are permitted.
type fakeTimers struct{ *fakeWorld }

func (w fakeTimers) Open(tid int, _ time.Duration, stack int) (Timer, error) {
	if w.opening != nil {
		return nil, w.opening
	}
	if w.timers == nil {
		w.fakeWorld.timers = make(map[int]*fakeTimer)
	}
	k := &fakeTimer{world: w.fakeWorld, tid: tid, stack: stack}
	w.timers[tid] = k
	return k, nil
}

func (w fakeTimers) Close() error { return nil }

// fakeTimer holds the samples of a thread, as program counters from firstSeen on.
type fakeTimer struct {
	world *fakeWorld
	tid   int
	stack int
	held  []uint64
}

// firstSeen is the program counter that stands for the first stack of a world's seen.
const firstSeen = 1 << 40

func (k *fakeTimer) Next(tick *perfevent.Tick) bool {
	if len(k.held) == 0 {
		return false
	}
	const ip = 8
	tick.Regs = [perfevent.TimerRegs]uint64{ip: k.held[0]}
	tick.Stack = tick.Stack[:min(len(tick.Stack), k.stack)]
	k.held = k.held[1:]
	return true
}

func (k *fakeTimer) SetPeriod(time.Duration) {}

func (k *fakeTimer) Close() error {
	delete(k.world.timers, k.tid)
	return nil
}

// tick has a thread run for a period in a stack, at the end of which its timer sees it.
func (w *fakeWorld) tick(t *fakeThread, period time.Duration, stack ...uint64) {
	t.spin(stack...)
	t.sched.Run += uint64(period)
	if k := w.timers[t.tid]; k != nil && len(k.held) < maxWaiting {
		k.held = append(k.held, firstSeen+uint64(len(w.seen)))
		w.seen = append(w.seen, stack)
	}
}

// spinning makes the first threads of a world run over some stacks, a period at a time.
func (w *fakeWorld) spinning(r *rand.Rand, busy int, period time.Duration) func(from, to time.Duration) {
	threads := w.sortedThreads()[:busy]
	return func(from, to time.Duration) {
		for ; from < to; from += period {
			for _, t := range threads {
				w.tick(t, period, 0x20+r.Uint64N(10), 0x30, 0x40)
			}
		}
	}
}

// runBy samples a world for some rounds of a period.
func runBy(t *testing.T, w *fakeWorld, c *fakeClock, period time.Duration, rounds int, each func(*Sample)) *Sampler {
	t.Helper()
	s := New([]*Source{w.source()}, &Options{
		Period: period, For: time.Duration(rounds) * period, Clock: c, Each: each,
	})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(w.timers) > 0 {
		t.Errorf("%d timers were left", len(w.timers))
	}
	return s
}

// TestTimersSpareStops: a thread that runs is stopped once, before it has a timer; all its
// samples and all its time are there.
func TestTimersSpareStops(t *testing.T) {
	w := newWorld(20)
	const period, rounds = 10 * time.Millisecond, 300
	c := &fakeClock{run: w.spinning(rand.New(rand.NewPCG(1, 1)), 2, period)}
	s := runBy(t, w, c, period, rounds, nil)
	if s.Cost().Stops != 2 {
		t.Errorf("%d stops of two threads", s.Cost().Stops)
	}
	total := s.Profile().Total()
	if total.Samples != 20*rounds || total.CPU != int64(2*rounds*period) || total.Wall != int64(20*rounds*period) {
		t.Errorf("%+v in %d rounds", total, rounds)
	}
	if s.Cost().Timed < 2*(rounds-2) {
		t.Errorf("%d samples by timers", s.Cost().Timed)
	}
}

// TestTimersSeeWhoIsBlockedAgain: a thread that computes between two rounds and waits at each of
// them has its samples where it waits and its time where it computes.
func TestTimersSeeWhoIsBlockedAgain(t *testing.T) {
	w := newWorld(1)
	const period = 10 * time.Millisecond
	only, n := w.sortedThreads()[0], 0
	c := &fakeClock{run: func(from, to time.Duration) {
		w.tick(only, period, 0x25, 0x40)
		if n++; n > 3 {
			only.block(202, 0x11, 0x40)
		}
	}}
	s := runBy(t, w, c, period, 100, nil)
	spread := func(v profile.Value) (computing float64) { return share(t, s, v, string(rune('a'+0x25%26))+"1") }
	if got := spread(profile.CPU); got < 0.95 {
		t.Errorf("%.0f %% of the time is where it was used", 100*got)
	}
	if got := spread(profile.Samples); got > 0.05 {
		t.Errorf("%.0f %% of the samples are where it did not wait", 100*got)
	}
}

// TestLeapChangesNothing: rounds that were put off give the profile that all rounds give.
func TestLeapChangesNothing(t *testing.T) {
	const period, rounds = time.Millisecond, 1001
	profileOf := func(each func(*Sample)) (string, string, int) {
		w := newWorld(20)
		waits := 0
		spin := w.spinning(rand.New(rand.NewPCG(3, 3)), 2, period)
		c := &fakeClock{run: func(from, to time.Duration) { waits++; spin(from, to) }}
		s := runBy(t, w, c, period, rounds, each)
		if taken := s.Profile().Rounds; taken != rounds || s.Cost().Missed != 0 {
			t.Errorf("%d rounds taken, %d missed", taken, s.Cost().Missed)
		}
		return folded(t, s, profile.Samples), folded(t, s, profile.CPU), waits
	}
	samples, cpu, waits := profileOf(nil)
	wantSamples, wantCPU, all := profileOf(func(*Sample) {})
	if samples != wantSamples || cpu != wantCPU {
		t.Errorf("with leaps:\n%s%s\nwithout:\n%s%s", samples, cpu, wantSamples, wantCPU)
	}
	if all != rounds || waits > rounds/3 {
		t.Errorf("waited %d times for %d rounds, and %d times without leaps", waits, rounds, all)
	}
}

// TestLeapOverAWakeUp: where somebody has woken in between, ticks are missed, and counted as
// that; after some times rounds are hardly put off any more.
func TestLeapOverAWakeUp(t *testing.T) {
	const period, rounds = time.Millisecond, 4000
	w := newWorld(20)
	spin := w.spinning(rand.New(rand.NewPCG(5, 5)), 1, period)
	wakes, sleeper := 0, w.sortedThreads()[10]
	c := &fakeClock{run: func(from, to time.Duration) {
		spin(from, to)
		if to/(20*period) != from/(20*period) {
			wakes++
			w.yields++
			sleeper.block(202, 0x10, 0x1000+uint64(wakes%10))
		}
	}}
	s := runBy(t, w, c, period, rounds, nil)
	cost := s.Cost()
	if cost.Rounds+cost.Missed != rounds {
		t.Errorf("%d rounds and %d missed, of %d", cost.Rounds, cost.Missed, rounds)
	}
	if cost.Missed == 0 || cost.Missed > 30 {
		t.Errorf("%d missed, of %d wake-ups", cost.Missed, wakes)
	}
	if total := s.Profile().Total(); total.Samples != 20*cost.Rounds || total.Wall != int64(20*rounds*period) {
		t.Errorf("%+v in %d rounds", total, cost.Rounds)
	}
}

// TestTimersEndWithTheImage: after an exec nothing that a timer saw before is shown.
func TestTimersEndWithTheImage(t *testing.T) {
	w := newWorld(1)
	const period = 10 * time.Millisecond
	spin := w.spinning(rand.New(rand.NewPCG(2, 2)), 1, period)
	n := 0
	c := &fakeClock{run: func(from, to time.Duration) {
		spin(from, to)
		if n++; n == 20 {
			w.stale = true
			w.timers[100].held = nil // the kernel has ended it
		}
	}}
	s := runBy(t, w, c, period, 40, nil)
	if s.Cost().Stops != 2 || w.opened != 2 {
		t.Errorf("%d stops in %d images", s.Cost().Stops, w.opened)
	}
}

// TestWithoutTimers: where they are not permitted, or there are no descriptors, or the
// stack they copy is not all, threads are stopped.
func TestWithoutTimers(t *testing.T) {
	const period, rounds = 10 * time.Millisecond, 50
	for name, change := range map[string]func(*fakeWorld){
		"not permitted":  func(w *fakeWorld) { w.forbid = syscall.EACCES },
		"no descriptors": func(w *fakeWorld) { w.opening = syscall.EMFILE },
		"another stack":  func(w *fakeWorld) { w.stray = 1 },
	} {
		w := newWorld(2)
		change(w)
		s := runBy(t, w, &fakeClock{run: w.spinning(rand.New(rand.NewPCG(4, 4)), 1, period)}, period, rounds, nil)
		if s.Cost().Stops < rounds-8 {
			t.Errorf("%s: %d stops in %d rounds", name, s.Cost().Stops, rounds)
		}
		if total := s.Profile().Total(); total.CPU != int64(rounds*period) || total.Samples != 2*rounds {
			t.Errorf("%s: %+v", name, total)
		}
	}
	w := newWorld(1)
	w.forbid = syscall.EACCES
	s := New([]*Source{w.source()}, &Options{For: time.Second, Clock: &fakeClock{}, Timers: TimersOnly})
	if err := s.Run(context.Background()); !errors.Is(err, syscall.EACCES) {
		t.Errorf("timers only, which are not permitted: %v", err)
	}
}

// TestTrust: where few of the stacks go on beyond what a timer copies, a stop is made for each of
// those; where many do, nearly all samples are taken by stops.
func TestTrust(t *testing.T) {
	const period, rounds = time.Millisecond, 20_000
	for _, c := range []struct {
		stray       uint64
		least, most int64 // stops
	}{{0, 1, 1}, {300, rounds / 300, rounds / 200}, {10, rounds * 9 / 10, rounds}, {1, rounds - 2, rounds}} {
		w := newWorld(1)
		w.stray = c.stray
		s := runBy(t, w, &fakeClock{run: w.spinning(rand.New(rand.NewPCG(6, 6)), 1, period)}, period, rounds, func(*Sample) {})
		if n := s.Cost().Stops; n < c.least || n > c.most {
			t.Errorf("one stray of %d: %d stops in %d rounds, not %d to %d", c.stray, n, rounds, c.least, c.most)
		}
		if total := s.Profile().Total(); total.CPU != int64(rounds*period) || total.Samples != rounds {
			t.Errorf("one stray of %d: %+v", c.stray, total)
		}
	}
}

// TestRestlessThreads: a thread that is put on a processor again and again has no timer, until it
// rests.
func TestRestlessThreads(t *testing.T) {
	const period, rounds = 10 * time.Millisecond, 3000
	w := newWorld(1)
	only, ticks, timed := w.sortedThreads()[0], 0, 0
	c := &fakeClock{run: func(from, to time.Duration) {
		w.tick(only, period, 0x21, 0x40)
		if ticks++; ticks < rounds/2 {
			only.sched.Slices += 100
		}
		if len(w.timers) > 0 && ticks < rounds/2 {
			timed++
		}
	}}
	s := runBy(t, w, c, period, rounds, nil)
	if timed > 2*restlessRounds {
		t.Errorf("restless for %d rounds, %d of them with a timer", rounds/2, timed)
	}
	if n := s.Cost().Timed; n < rounds/4 {
		t.Errorf("resting for %d rounds: %d samples by a timer", rounds/2, n)
	}
	if total := s.Profile().Total(); total.CPU != int64(rounds*period) || total.Samples != rounds {
		t.Errorf("%+v", total)
	}
}
