package sample

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/source"
)

func folded(t testing.TB, s *Sampler, v profile.Value) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Profile().Write(&b, profile.Folded, &profile.Options{Value: v}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestIdleThreadsAreLeftAlone: threads that do not move are read once.
func TestIdleThreadsAreLeftAlone(t *testing.T) {
	w := newWorld(100)
	s := run(t, w, &fakeClock{}, 50, nil)
	if w.looks != 0 {
		t.Errorf("%d looks at threads that are all blocked", w.looks)
	}
	c := s.Cost()
	if c.Rounds != 50 || c.Samples != 5000 || c.Passive != 100 || c.Kept != 4900 || c.Stops != 0 {
		t.Errorf("cost %+v", c)
	}
	total := s.Profile().Total()
	if total.Samples != 5000 || total.Wall != int64(100*500*time.Millisecond) || total.CPU != 0 {
		t.Errorf("total %+v", total)
	}
	if out := folded(t, s, profile.Samples); !strings.Contains(out, ";[futex] 500\n") {
		t.Errorf("folded:\n%s", out)
	}
}

// TestProcessorTimeAddsUp: samples count the processor time that the process
// used, threads that die between rounds included.
func TestProcessorTimeAddsUp(t *testing.T) {
	w := newWorld(10)
	r := rand.New(rand.NewPCG(1, 1))
	next := 1001
	c := &fakeClock{}
	load := w.load(r, 2)
	c.run = func(from, to time.Duration) {
		load(from, to)
		// In turns a thread that is seen and then dies busy, and one that
		// no round ever sees.
		next++
		t := w.start(next)
		t.spin(0x50)
		t.sched.Run += 1_000_000
		switch next % 3 {
		case 1:
			t.sched.Run += 2_000_000
		case 2:
			w.threads[next-1].sched.Run += 500_000
			w.end(next - 1)
			w.end(next)
		default:
			w.end(next)
		}
	}
	s := run(t, w, c, 200, nil)
	used, _ := w.source().CPU()
	total := s.Profile().Total()
	if total.CPU != int64(used) || s.Profile().CPU != used {
		t.Errorf("samples count %v, profile says %v, process used %v",
			time.Duration(total.CPU), s.Profile().CPU, used)
	}
}

// TestOneStopForAHiddenRegister: a blocked thread whose unwinding needs more than
// the kernel shows is stopped once, not at every round.
func TestOneStopForAHiddenRegister(t *testing.T) {
	w := newWorld(1)
	th := w.threads[100]
	th.block(202, 0x10, 0x11, 0x12)
	th.hidden = true
	s := run(t, w, &fakeClock{}, 20, nil)
	if th.stops != 1 {
		t.Errorf("stopped %d times", th.stops)
	}
	if out := folded(t, s, profile.Samples); !strings.Contains(out, "s1;r1;q1 20\n") &&
		!strings.Contains(out, "s1;r1;q1;[futex] ") {
		t.Errorf("folded:\n%s", out)
	}
}

// TestCallsThatGiveEINTRAreNotInterrupted, whatever a stop would show.
func TestCallsThatGiveEINTRAreNotInterrupted(t *testing.T) {
	for name := range givesEINTR {
		w := newWorld(1)
		th := w.threads[100]
		nr := procfs.SyscallNumber(name)
		if nr < 0 {
			continue // not on this machine
		}
		th.block(nr, 0x10, 0x11)
		th.hidden = true
		// It even wakes whenever it is looked at.
		w.onSched = func(*fakeThread) { th.sched.Slices++ }
		s := run(t, w, &fakeClock{}, 5, nil)
		if th.stops != 0 {
			t.Errorf("%s: stopped %d times", name, th.stops)
		}
		if out := folded(t, s, profile.Samples); out != "["+name+"] 5\n" {
			t.Errorf("%s: folded %q", name, out)
		}
	}
}

// TestEndOfABriefCall: a thread that stops at the end of a brief call is looked at
// once more in that round, except one time in eight. At the end of any other call it
// is not.
func TestEndOfABriefCall(t *testing.T) {
	const rounds = 2 * keepShort
	for nr, again := range map[int64]int{228: rounds - rounds/keepShort, 0: 0} {
		w := newWorld(1)
		th := w.threads[100]
		behind := false
		w.onLook = func() {
			if behind {
				th.spin(0x20)
			}
			behind = true
		}
		c := &fakeClock{run: func(_, _ time.Duration) {
			behind = false
			th.spin(0x10)
			th.call.Nr = nr // at the end of it
		}}
		s := run(t, w, c, rounds, nil)
		if th.stops != rounds+again {
			t.Errorf("call %d: %d stops in %d rounds, want %d", nr, th.stops, rounds, rounds+again)
		}
		if got := s.Profile().Total().Samples; got != rounds {
			t.Errorf("call %d: %d samples in %d rounds", nr, got, rounds)
		}
		if got := strings.Contains(folded(t, s, profile.Samples), "g1 "+strconv.Itoa(again)+"\n"); got != (again > 0) {
			t.Errorf("call %d: folded\n%s", nr, folded(t, s, profile.Samples))
		}
	}
}

// TestUninterruptibleThreads are shown as uninterruptible, and delay no others.
func TestUninterruptibleThreads(t *testing.T) {
	w := newWorld(3)
	sleeper, deaf := w.threads[100], w.threads[101]
	sleeper.block(58, 0x10, 0x11)
	sleeper.state, sleeper.hidden, sleeper.unmovable = 'D', true, true
	deaf.spin(0x12)
	deaf.unmovable = true
	s := run(t, w, &fakeClock{}, 10, nil)
	out := folded(t, s, profile.Samples)
	for _, want := range []string{"q1;[vfork] 10\n", "[not stopped] 10\n", ";[futex] 10\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if sleeper.stops != 0 || s.Cost().Refused != 10 {
		t.Errorf("%d stops, %d refused", sleeper.stops, s.Cost().Refused)
	}
}

// TestThreadThatWakesWhileRead is looked at again.
func TestThreadThatWakesWhileRead(t *testing.T) {
	w := newWorld(1)
	th := w.threads[100]
	w.onSched = func(*fakeThread) {
		if th.reads == 3 { // after begin and the round's first
			th.sched.Slices++
			th.block(0, 0x20)
		}
	}
	s := run(t, w, &fakeClock{}, 3, nil)
	if out := folded(t, s, profile.Samples); out != "g1;[read] 3\n" {
		t.Errorf("folded %q", out)
	}
	if th.stops != 0 {
		t.Errorf("stopped %d times", th.stops)
	}
}

// TestUnmovedRunningThread: a running thread shows the same schedstat until
// the scheduler's tick, and is looked at nevertheless.
func TestUnmovedRunningThread(t *testing.T) {
	w := newWorld(1)
	th := w.threads[100]
	i := uint64(0)
	c := &fakeClock{run: func(_, _ time.Duration) { i++; th.spin(0x10 + i) }}
	s := run(t, w, c, 10, nil)
	if th.stops != 10 {
		t.Errorf("%d stops in 10 rounds", th.stops)
	}
	if n := strings.Count(folded(t, s, profile.Samples), "\n"); n != 10 {
		t.Errorf("%d different stacks, want 10", n)
	}
}

// TestExec: samples of the old image are resolved by the old image, even if
// the exec comes during a look.
func TestExec(t *testing.T) {
	w := newWorld(1)
	th := w.threads[100]
	c := &fakeClock{}
	c.run = func(_, to time.Duration) {
		th.spin(0x1a) // a
		if to == 50*time.Millisecond {
			w.stale = true
		}
	}
	w.onLook = func() {
		if c.now == 70*time.Millisecond {
			w.stale = true
		}
	}
	s := run(t, w, c, 10, nil)
	const want = "[exec] 1\na1 4\na2 2\na3 3\n"
	if out := folded(t, s, profile.Samples); out != want {
		t.Errorf("folded %q, want %q", out, want)
	}
}

// TestBetweenImages: a process that has no image when the sampling begins, since it is
// in the middle of an exec, is sampled as soon as it has one.
func TestBetweenImages(t *testing.T) {
	w := newWorld(1)
	src := w.source()
	image, tries := src.Image, 0
	src.Image = func() (source.Image, error) {
		if tries++; tries < 3 {
			return nil, &fs.PathError{Op: "open", Path: "/proc/100/maps", Err: syscall.ESRCH}
		}
		return image()
	}
	s := New([]*source.Process{src}, &Options{Period: 10 * time.Millisecond, For: 100 * time.Millisecond, Clock: &fakeClock{}})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := s.Profile().Total().Samples; got != 9 {
		t.Errorf("%d samples in 10 rounds, the first of which had no image", got)
	}
}

// TestNewCode: an address in no mapping makes the maps be read again, and the
// stack of that very round is whole.
func TestNewCode(t *testing.T) {
	for name, begin := range map[string]func(*fakeThread){
		"running": func(f *fakeThread) { f.spin(0x10, 0x77) },
		"waiting": func(f *fakeThread) { f.block(1, 0x10, 0x77) },
	} {
		for _, rounds := range []int{1, 5} {
			w := newWorld(1)
			begin(w.threads[100])
			w.miss = map[uint64]bool{0x77: true}
			s := run(t, w, &fakeClock{}, rounds, nil)
			if out := folded(t, s, profile.Samples); strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "p1;q1") {
				t.Errorf("%s, %d rounds: folded %q", name, rounds, out)
			}
		}
	}
}

// TestReusedTID: another thread gets the dead thread's number at once.
func TestReusedTID(t *testing.T) {
	w := newWorld(2)
	c := &fakeClock{}
	c.run = func(_, to time.Duration) {
		if to == 50*time.Millisecond {
			w.end(101)
			gen := w.gen
			w.start(101).block(1, 0x2a)
			w.gen = gen // the set of numbers is unchanged
		}
	}
	s := run(t, w, c, 10, nil)
	if out := folded(t, s, profile.Samples); !strings.Contains(out, ";[write] 5") && !strings.Contains(out, ";[write] 6") {
		t.Errorf("folded:\n%s", out)
	}
}

// TestLateTicksAreNotMadeUp: the schedule is absolute.
func TestLateTicksAreNotMadeUp(t *testing.T) {
	w := newWorld(1)
	c := &fakeClock{delay: func(due time.Duration) time.Duration {
		switch due {
		case 30 * time.Millisecond:
			return 7 * time.Millisecond // late
		case 50 * time.Millisecond:
			return 25 * time.Millisecond // 60 is missed, 70 is taken, in time
		}
		return 0
	}}
	s := run(t, w, c, 10, nil)
	cost := s.Cost()
	if cost.Rounds != 8 || cost.Missed != 2 || cost.Late != 1 {
		t.Errorf("%d rounds, %d missed, %d late", cost.Rounds, cost.Missed, cost.Late)
	}
	if wall := s.Profile().Total().Wall; wall != int64(100*time.Millisecond) {
		t.Errorf("wall time %v, want that of the clock", time.Duration(wall))
	}
}

// TestEndOfProcess ends the sampling.
func TestEndOfProcess(t *testing.T) {
	w := newWorld(1)
	c := &fakeClock{}
	c.run = func(_, to time.Duration) {
		if to == 50*time.Millisecond {
			close(w.done)
		}
	}
	s := New([]*source.Process{w.source()}, &Options{Period: 10 * time.Millisecond, Clock: c})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := s.Cost().Samples; n < 4 || n > 5 {
		t.Errorf("%d samples", n)
	}
}

// TestWarmRoundDoesNotAllocate: neither of kept, passive nor stopped threads.
func TestWarmRoundDoesNotAllocate(t *testing.T) {
	w := newWorld(50)
	c := &fakeClock{}
	r := rand.New(rand.NewPCG(1, 1))
	c.run = w.load(r, 2)
	s := New([]*source.Process{w.source()}, &Options{Period: 10 * time.Millisecond, Clock: c})
	s.sched = newSchedule(0, s.opt.Period)
	p := s.processes[0]
	if err := p.begin(0); err != nil {
		t.Fatal(err)
	}
	defer p.close()
	ctx := context.Background()
	tick := func() {
		c.Until(ctx, s.sched.due())
		s.round(ctx)
	}
	for range 2000 {
		tick()
	}
	if n := testing.AllocsPerRun(500, tick); n > 0.05 {
		t.Errorf("%v allocations a round", n)
	}
}

// TestHourTorture is an hour at 99 Hz of 1,000 threads, two of them busy and
// the others waking now and then; twenty seconds of it without PTOOLS_TORTURE, less with -short.
func TestHourTorture(t *testing.T) {
	length := time.Duration(ptest.Rounds(10, 20, 3600)) * time.Second
	w := newWorld(1000)
	c := &fakeClock{}
	load := w.load(rand.New(rand.NewPCG(1, 1)), 2)
	var early uint64
	c.run = func(from, to time.Duration) {
		load(from, to)
		if early == 0 && to > length/6 {
			early = heap()
		}
	}
	s := New([]*source.Process{w.source()}, &Options{For: length, Clock: c})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	late := heap()
	runtime.KeepAlive(s)
	rounds := int64(length / DefaultPeriod)
	if got := s.Profile().Total().Samples; got != rounds*1000 {
		t.Errorf("%d samples, want %d", got, rounds*1000)
	}
	if late > early+early/4+1<<20 {
		t.Errorf("heap of %d KiB after a sixth of the time, %d KiB at the end", early>>10, late>>10)
	}
	t.Logf("heap of %d KiB after a sixth of the time, %d KiB at the end; %v", early>>10, late>>10, s.Cost())
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestExecAfterAnEnd: a thread that was found dead in the last round of one image is
// settled in the first of the next, which knows nothing of its stack.
func TestExecAfterAnEnd(t *testing.T) {
	w := newWorld(30)
	round := 0
	c := &fakeClock{run: func(from, to time.Duration) {
		switch round++; round {
		case 5:
			th := w.threads[100]
			th.sched.Run += 1_000_000
			w.exited += time.Duration(th.sched.Run)
			delete(w.threads, 100)
			th.state = 'X' // the controller does not know yet
		case 6:
			w.stale = true
			w.gen++
			for _, th := range w.threads {
				th.block(202, 0x10)
			}
		}
	}}
	s := run(t, w, c, 10, nil)
	if got := s.Profile().Total().CPU; got != 1_000_000 {
		t.Errorf("%v of processor time, want 1ms", time.Duration(got))
	}
}

// TestTicksSeeEveryMoment: a program whose period is a fifth of the schedule's is
// seen in each of its phases, once in every period of the schedule.
func TestTicksSeeEveryMoment(t *testing.T) {
	const period, rounds = time.Millisecond, 20_000
	s := newSchedule(0, period)
	s.random = rand.New(rand.NewPCG(3, 3)).Int64N
	s.draw()
	var seen [10]int
	for n := range int64(rounds) {
		due := s.due()
		if begin := time.Duration(n) * period; due <= begin || due > begin+period {
			t.Fatalf("tick %d is due at %v", n+1, due)
		}
		seen[due%(period/5)/(period/50)]++
		s.take(due)
	}
	for i, n := range seen {
		if n < rounds/10*9/10 || n > rounds/10*11/10 {
			t.Errorf("phase %d of 10 was seen %d times in %d", i, n, rounds)
		}
	}
	if s.taken != rounds || s.missed != 0 || s.late != 0 {
		t.Errorf("%d taken, %d missed, %d late", s.taken, s.missed, s.late)
	}
}
