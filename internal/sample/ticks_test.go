package sample

import (
	"context"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/profile"
	"ptools/internal/source"
)

// fakeTicks are the ticks of a world with timers.
type fakeTicks struct {
	*fakeWorld
	period time.Duration
}

func (w fakeTicks) ReadAll(f func(*perfevent.Record)) int64 { return w.Read(f) }

func (w fakeTicks) Read(f func(*perfevent.Record)) int64 {
	records := w.records
	w.fakeWorld.records = nil
	for i := range records {
		f(&records[i])
	}
	lost := w.lost
	w.fakeWorld.lost = 0
	return lost
}

func (w fakeTicks) Redraw(func(int64) int64) {}

func (w fakeTicks) Watch(int, []uint64) {}

func (w fakeTicks) Period() time.Duration { return w.period }

// firstSeen is the program counter that stands for the first stack of a world's seen.
const firstSeen = 1 << 40

// meet has a tick meet a thread.
func (w *fakeWorld) meet(tid int, stack ...uint64) {
	const ip = 8
	w.records = append(w.records, perfevent.Record{
		PID: 100, TID: tid, Regs: [perfevent.UserRegs]uint64{ip: firstSeen + uint64(len(w.seen))},
	})
	w.seen = append(w.seen, stack)
}

// tick has a thread run for a period in a stack, at the end of which a tick meets it.
func (w *fakeWorld) tick(t *fakeThread, period time.Duration, stack ...uint64) {
	t.spin(stack...)
	t.sched.Run += uint64(period)
	w.meet(t.tid, stack...)
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

// runTicks samples a world for some rounds of a period, with ticks as often.
func runTicks(t *testing.T, w *fakeWorld, c *fakeClock, period time.Duration, rounds int, each func(*Sample)) *Sampler {
	t.Helper()
	s := New([]*source.Process{w.source()}, &Options{
		Period: period, For: time.Duration(rounds) * period, Clock: c, Each: each, Ticks: fakeTicks{w, period},
	})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := w.looks; n > 0 {
		t.Errorf("%d looks with ticks", n)
	}
	return s
}

// TestTicksSpareStops: no thread is stopped; all samples and all time are there.
func TestTicksSpareStops(t *testing.T) {
	w := newWorld(20)
	const period, rounds = 10 * time.Millisecond, 300
	c := &fakeClock{run: w.spinning(rand.New(rand.NewPCG(1, 1)), 2, period)}
	s := runTicks(t, w, c, period, rounds, nil)
	total := s.Profile().Total()
	if total.Samples != 20*rounds || total.CPU != int64(2*rounds*period) || total.Wall != int64(20*rounds*period) {
		t.Errorf("%+v in %d rounds", total, rounds)
	}
	if s.Cost().Ticks != 2*rounds || s.Cost().Stops != 0 {
		t.Errorf("%d ticks, %d stops", s.Cost().Ticks, s.Cost().Stops)
	}
}

// TestTimeOfThreadsThatSleep: a thread that computes between two rounds and waits at each of
// them has its samples where it waits and its time where it computes.
func TestTimeOfThreadsThatSleep(t *testing.T) {
	w := newWorld(1)
	const period = 10 * time.Millisecond
	only := w.sortedThreads()[0]
	c := &fakeClock{run: func(from, to time.Duration) {
		w.tick(only, period, 0x25, 0x40)
		only.block(202, 0x11, 0x40)
	}}
	s := runTicks(t, w, c, period, 100, nil)
	computing := string(rune('a'+0x25%26)) + "1"
	if got := share(t, s, profile.CPU, computing); got != 1 {
		t.Errorf("%.0f %% of the time is where it was used", 100*got)
	}
	if got := share(t, s, profile.Samples, computing); got != 0 {
		t.Errorf("%.0f %% of the samples are where it did not wait", 100*got)
	}
}

// TestRunningBetweenTicks: the samples of a thread that rounds find running before a tick meets it go to
// that tick. If no tick meets the thread any more, they go to the place where the last one met it, or to a
// name of their own.
func TestRunningBetweenTicks(t *testing.T) {
	const period, rounds = 10 * time.Millisecond, 10
	for _, c := range []struct {
		ticks []int // rounds in which there is one
		want  string
	}{
		{[]int{4, 8}, "a1 6\nb1 4\n"}, // the last two rounds' to b1
		{nil, "[running] 10\n"},
	} {
		w := newWorld(1)
		only, n, met := w.sortedThreads()[0], 0, 0
		clock := &fakeClock{run: func(_, _ time.Duration) {
			n++
			only.spin(0x99)
			for _, at := range c.ticks {
				if n == at {
					w.meet(only.tid, []uint64{0x1a, 0x1b}[met])
					met++
				}
			}
		}}
		s := runTicks(t, w, clock, period, rounds, nil)
		if got := folded(t, s, profile.Samples); len(c.ticks) == 0 && got != c.want || s.Profile().Total().Samples != rounds {
			t.Errorf("ticks in rounds %v: %q, want %q", c.ticks, got, c.want)
		}
		if got := folded(t, s, profile.Samples); len(c.ticks) > 0 && got != "a1 4\nb1 6\n" {
			t.Errorf("ticks in rounds %v: %q", c.ticks, got)
		}
	}
}

// TestTicksOfStrangers: threads that live only between two rounds have their time, under their own names.
func TestTicksOfStrangers(t *testing.T) {
	const period, rounds = 10 * time.Millisecond, 100
	w := newWorld(3)
	tid := 1000
	c := &fakeClock{run: func(_, _ time.Duration) {
		tid++
		th := w.start(tid)
		th.sched.Run = uint64(period)
		w.meet(tid, 0x20, 0x40)
		w.end(tid)
	}}
	s := runTicks(t, w, c, period, rounds, nil)
	if total := s.Profile().Total(); total.CPU != int64(rounds*period) || total.Samples != 3*rounds {
		t.Errorf("%+v", total)
	}
	if got := share(t, s, profile.CPU, string(rune('a'+0x20%26))+"1"); got != 1 {
		t.Errorf("%.2f of the time is where it was used", got)
	}
}

// TestReconcile: counts are stretched to the processor time that was used, for each thread that was met
// often, and for the others together. Time that chance does not explain is counted apart.
func TestReconcile(t *testing.T) {
	const period, rounds = 10 * time.Millisecond, 100
	w := newWorld(4)
	threads, n := w.sortedThreads(), 0
	c := &fakeClock{run: func(_, _ time.Duration) {
		n++
		w.tick(threads[0], period, 0x1a) // and has used half as much again
		threads[0].sched.Run += uint64(period / 2)
		if n%20 == 0 {
			w.tick(threads[1], period, 0x1b)
		}
		threads[2].block(202, 0x1c) // never met
		threads[2].sched.Run += uint64(4 * period)
	}}
	s := runTicks(t, w, c, period, rounds, nil)
	lines := make(map[string]float64)
	for line := range strings.Lines(folded(t, s, profile.CPU)) {
		name, count, _ := strings.Cut(line, " ")
		lines[name] += number(strings.TrimPrefix(count, "sampled] "))
	}
	whole := float64(rounds * period)
	if got := lines["a1"] / whole; got != 1.5 {
		t.Errorf("a thread that was met often has %.3f of its time, not 1.5", got)
	}
	if used, _ := w.source().CPU(); s.Profile().Total().CPU != int64(used) || s.Profile().CPU != used {
		t.Errorf("%v of %v", time.Duration(s.Profile().Total().CPU), used)
	}
	if got := lines["[not"] / whole; got < 2.5 {
		t.Errorf("%.2f of what was never met stands apart\n%s", got, folded(t, s, profile.CPU))
	}
}

// TestCoalescingChangesNothing: rounds that were put off give the profile that all rounds give.
func TestCoalescingChangesNothing(t *testing.T) {
	const period, rounds = time.Millisecond, 1001
	profileOf := func(each func(*Sample)) (string, string, int) {
		w := newWorld(20)
		waits := 0
		spin := w.spinning(rand.New(rand.NewPCG(3, 3)), 2, period)
		c := &fakeClock{run: func(from, to time.Duration) { waits++; spin(from, to) }}
		s := runTicks(t, w, c, period, rounds, each)
		if taken := s.Profile().Rounds; taken != rounds || s.Cost().Missed != 0 {
			t.Errorf("%d rounds taken, %d missed", taken, s.Cost().Missed)
		}
		return folded(t, s, profile.Samples), folded(t, s, profile.CPU), waits
	}
	samples, cpu, waits := profileOf(nil)
	wantSamples, wantCPU, all := profileOf(func(*Sample) {})
	if samples != wantSamples || cpu != wantCPU {
		t.Errorf("with rounds put off:\n%s%s\nwithout:\n%s%s", samples, cpu, wantSamples, wantCPU)
	}
	if all != rounds || waits > rounds/3 {
		t.Errorf("waited %d times for %d rounds, and %d times without", waits, rounds, all)
	}
}

// TestCoalesceOverAWakeUp: if a thread has woken in between, ticks of the schedule are missed, and counted as
// missed. After some times rounds are hardly put off any more.
func TestCoalesceOverAWakeUp(t *testing.T) {
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
	s := runTicks(t, w, c, period, rounds, nil)
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

// TestTicksAcrossExec: each tick is shown by the image that it met.
func TestTicksAcrossExec(t *testing.T) {
	w := newWorld(1)
	const period = 10 * time.Millisecond
	only, n := w.sortedThreads()[0], 0
	c := &fakeClock{run: func(from, to time.Duration) {
		w.tick(only, period, 0x1a)
		if n++; n == 20 {
			w.stale = true
			w.records = append(w.records, perfevent.Record{Kind: perfevent.Exec, PID: 100, TID: 100})
			w.tick(only, period, 0x1a)
		}
	}}
	s := runTicks(t, w, c, period, 40, nil)
	if w.opened != 2 {
		t.Errorf("%d images", w.opened)
	}
	out := folded(t, s, profile.CPU)
	if !strings.HasPrefix(out, "a1 2") || !strings.Contains(out, "\na2 2") {
		t.Errorf("20 ticks before and 21 after:\n%s", out)
	}
}

// TestChildrenAreCounted: processes that a sampled one starts are not sampled, and are counted.
func TestChildrenAreCounted(t *testing.T) {
	const period = time.Millisecond
	w, n := newWorld(1), 0
	c := &fakeClock{run: func(_, _ time.Duration) {
		if n++; n <= 3 {
			w.records = append(w.records, perfevent.Record{Kind: perfevent.Fork, PID: 200 + n, TID: 200 + n, Parent: 100})
		}
	}}
	s := runTicks(t, w, c, period, 10, nil)
	if got := s.Cost().String(); s.Cost().Children != 3 || !strings.HasSuffix(got, ", 3 child processes not sampled (--follow samples them)") {
		t.Errorf("%d children: %q", s.Cost().Children, got)
	}
}

// TestUncertainCallers: if a stack leads to memory beyond the copy, and there to nothing, only the
// certain part is shown.
func TestUncertainCallers(t *testing.T) {
	const period, rounds = time.Millisecond, 1000
	w := newWorld(1)
	w.stray = 10
	s := runTicks(t, w, &fakeClock{run: w.spinning(rand.New(rand.NewPCG(6, 6)), 1, period)}, period, rounds, nil)
	if n := s.Cost().Cut; n != rounds/10 {
		t.Errorf("%d stacks were cut", n)
	}
	if out := folded(t, s, profile.CPU); strings.Contains(out, string(rune('a'+0x66%26))+"1") {
		t.Errorf("an uncertain caller is shown:\n%s", out)
	}
	if total := s.Profile().Total(); total.CPU != int64(rounds*period) || total.Samples != rounds {
		t.Errorf("%+v", total)
	}
}

// TestTicksOfTheEnd: if a process has ended before a round could read its thread's processor time, the ticks' count
// is kept.
func TestTicksOfTheEnd(t *testing.T) {
	const period = 2 * time.Millisecond
	w, c := newWorld(1), &fakeClock{}
	src := w.source()
	cpu := src.CPU
	src.CPU = func() (time.Duration, error) {
		if len(w.threads) == 0 {
			return 0, syscall.ESRCH
		}
		return cpu()
	}
	c.run = func(_, to time.Duration) {
		if to == 5*period {
			for range 40 {
				w.tick(w.threads[100], period, 0x20, 0x30)
			}
			w.end(100)
			close(w.done)
		}
	}
	s := New([]*source.Process{src}, &Options{Period: period, For: 20 * period, Clock: c, Ticks: fakeTicks{w, period}})
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := time.Duration(s.Profile().Total().CPU), 40*period; got != want {
		t.Errorf("processor time %v, want %v\n%s", got, want, folded(t, s, profile.CPU))
	}
	if got := share(t, s, profile.CPU, "[not sampled]"); got > 0 {
		t.Errorf("%.1f %% is not attributed", 100*got)
	}
}
