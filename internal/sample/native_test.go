package sample

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
	"ptools/internal/source"
	"ptools/pctl/control"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// attach takes control of a target until the test ends.
func attach(t testing.TB, pid int, o *control.Options) *control.Controller {
	t.Helper()
	with := control.Options{Files: openFiles(t)}
	if o != nil {
		with.OnThreadStart = o.OnThreadStart
	}
	c, err := control.Attach(context.Background(), pid, &with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		release(t, c)
		if space := c.Space(); space != nil {
			space.Close()
		}
	})
	return c
}

// openFiles returns a cache that is closed when the test ends.
func openFiles(t testing.TB) *source.Files {
	files := source.NewFiles()
	t.Cleanup(files.Close)
	return files
}

func release(t testing.TB, c *control.Controller) {
	if err := c.Release(context.Background(), control.ModeRun); err != nil {
		t.Error(err)
	}
}

// bothWays runs a test with timers, where they can be had, and without.
func bothWays(t *testing.T, test func(*testing.T, UseTimers)) {
	t.Run("timers", func(t *testing.T) {
		needTimers(t)
		test(t, TimersOnly)
	})
	t.Run("stops", func(t *testing.T) { test(t, TimersOff) })
}

// bothAtOnce is bothWays in parallel with other tests, for results that a busy machine does not change.
func bothAtOnce(t *testing.T, test func(*testing.T, UseTimers)) {
	bothWays(t, func(t *testing.T, use UseTimers) {
		t.Parallel()
		test(t, use)
	})
}

// needTimers skips the test if we may not use timers.
func needTimers(t testing.TB) {
	timers, err := OpenTimers(TimersOnly, TimersOptions{Period: time.Second})
	if err != nil {
		t.Skip(err)
	}
	timers.Close()
}

// sampleRounds takes that many rounds of processes; each sees the samples.
func sampleRounds(t testing.TB, rounds int64, period time.Duration, each func(*Sample), cs ...*control.Controller) *Sampler {
	t.Helper()
	return sampleBy(t, TimersAuto, rounds, period, each, cs...)
}

// sampleBy is sampleRounds with or without timers.
func sampleBy(t testing.TB, use UseTimers, rounds int64, period time.Duration, each func(*Sample), cs ...*control.Controller) *Sampler {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	files := openFiles(t)
	var sources []*source.Process
	for _, c := range cs {
		sources = append(sources, source.New(c, files, false))
	}
	o := &Options{Period: period, Each: each, Progress: func(p *Progress) {
		if p.Rounds >= rounds {
			cancel()
		}
	}}
	o.Ticks = wanting(t, use, period, sources...)
	s := New(sources, o)
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("%+v", s.Cost())
	}
	return s
}

// wanting returns timers that want the sources, nil for none.
func wanting(t testing.TB, use UseTimers, period time.Duration, sources ...*source.Process) Ticks {
	t.Helper()
	timers, err := OpenTimers(use, TimersOptions{Period: period})
	if err != nil {
		t.Fatal(err)
	}
	if timers == nil {
		return nil
	}
	t.Cleanup(func() { timers.Close() })
	for _, src := range sources {
		if err := timers.Want(src.PID); err != nil {
			t.Fatal(err)
		}
	}
	return timers
}

// share returns the share of a function anywhere on the stack, of all samples.
func share(t testing.TB, s *Sampler, v profile.Value, name string) float64 {
	t.Helper()
	var with, all float64
	for line := range strings.Lines(folded(t, s, v)) {
		i := strings.LastIndexByte(line, ' ')
		n := number(line[i+1:])
		all += n
		if strings.Contains(";"+line[:i]+";", ";"+name+";") {
			with += n
		}
	}
	return with / all
}

// number reads a line's count.
func number(s string) (n float64) {
	for _, digit := range strings.TrimSpace(s) {
		n = 10*n + float64(digit-'0')
	}
	return n
}

// TestColumns: processor time adds up to the kernel's account of the process,
// threads that live microseconds included. Wall time adds up to the clock's,
// once for each thread.
func TestColumns(t *testing.T) { bothWays(t, testColumns) }

func testColumns(t *testing.T, use UseTimers) {
	for _, exe := range []string{"mix.c", "threadstorm.c"} {
		t.Run(strings.TrimSuffix(exe, ".c"), func(t *testing.T) {
			g := ptest.Start(t, ptest.BuildC(t, exe), "-t", "2")
			g.Ready()
			src := source.New(attach(t, g.PID, nil), openFiles(t), false)
			var readings []time.Duration
			cpu := src.CPU
			src.CPU = func() (time.Duration, error) {
				d, err := cpu()
				readings = append(readings, d)
				return d, err
			}
			s := New([]*source.Process{src}, &Options{
				For: time.Duration(ptest.Rounds(1000, 2000, 2000)) * time.Millisecond, Ticks: wanting(t, use, DefaultPeriod, src),
			})
			if err := s.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			within := func(what string, got, want, slack time.Duration) {
				t.Logf("%s: %v of %v, %+.2f %%", what, got, want, 100*(float64(got)/float64(want)-1))
				if diff := (got - want).Abs(); diff > want/100+slack {
					t.Errorf("%s: samples count %v, the truth is %v", what, got, want)
				}
			}
			// Either account is behind by up to a scheduler tick for each processor.
			ticks := 2 * 4 * time.Millisecond * time.Duration(runtime.NumCPU())
			total := s.Profile().Total()
			within("processor time", time.Duration(total.CPU), readings[len(readings)-1]-readings[0], ticks)
			if exe == "mix.c" {
				const threads = 3 // two, and one that waits for the end
				within("wall time", time.Duration(total.Wall), threads*s.Profile().Duration, threads*2*DefaultPeriod)
			}
		})
	}
}

// TestWaitingThreads are neither stopped nor woken, and each has its stack.
func TestWaitingThreads(t *testing.T) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "idle.c"), "-t", "100")
	g.Ready()
	s := sampleRounds(t, 50, DefaultPeriod, nil, attach(t, g.PID, nil))
	cost := s.Cost()
	t.Logf("%+v", *cost)
	if cost.Samples != 50*101 {
		t.Errorf("%d samples of 101 threads in 50 rounds", cost.Samples)
	}
	// A thread may still be on its way to sleep in the first rounds.
	if cost.Stops > 20 {
		t.Errorf("%d stops", cost.Stops)
	}
	if n := truth.EINTR(); n != 0 {
		t.Errorf("%d EINTRs", n)
	}
	out := folded(t, s, profile.Samples)
	for _, call := range []string{"[futex]", "[poll]", "[clock_nanosleep]", "[epoll_wait]"} {
		if !strings.Contains(out, ";"+call+" ") {
			t.Errorf("no %s in\n%s", call, out)
		}
	}
	if got := share(t, s, profile.Samples, "idle_thread"); got < 0.98 {
		t.Errorf("only %.1f %% of the samples are under idle_thread\n%s", 100*got, out)
	}
}

// TestBlockingCallsSeeNoEINTR: no kind of blocking call does. Calls that wait for
// children are left out: the kernel lets SIGCHLD disturb a traced process even if
// the signal is ignored.
func TestBlockingCallsSeeNoEINTR(t *testing.T) { bothAtOnce(t, testBlockingCalls) }

func testBlockingCalls(t *testing.T, use UseTimers) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "blockers.c"), "-x", "wait")
	g.Ready()
	s := sampleBy(t, use, 500, time.Second/999, nil, attach(t, g.PID, nil))
	t.Logf("%+v", *s.Cost())
	if n := truth.EINTR(); n != 0 {
		for i := range 32 {
			if k := truth.Kind(i); k != 0 {
				t.Logf("kind %d: %d", i, k)
			}
		}
		t.Errorf("%d EINTRs", n)
	}
}

// TestExecWhileSampling follows a program through its images.
func TestExecWhileSampling(t *testing.T) { bothAtOnce(t, testExec) }

func testExec(t *testing.T, use UseTimers) {
	g := ptest.Start(t, ptest.BuildC(t, "execstorm.c"), "-T", "-t", "2")
	g.Ready()
	s := sampleBy(t, use, 300, time.Second/999, nil, attach(t, g.PID, nil))
	t.Logf("%v", s.Cost())
	if s.Cost().Samples == 0 {
		t.Error("no samples")
	}
	for f := range profile.JSON + 1 {
		if err := s.Profile().Write(io.Discard, f, nil); err != nil {
			t.Errorf("%v: %v", f, err)
		}
	}
}

// TestHandlersAreNotShownWaiting: threads are not seen at the first instruction of a signal's handler because they
// waited for their tracer there. Half of all stops are, if that wait is not discounted (tracee.Memory.shown). A thread
// that is really there is seen by chance, once in some thousand samples.
func TestHandlersAreNotShownWaiting(t *testing.T) { bothWays(t, testHandlers) }

func testHandlers(t *testing.T, use UseTimers) {
	g := ptest.Start(t, ptest.BuildC(t, "sigstorm.c"), "-n", "20000")
	g.Ready()
	seen, waiting := 0, 0
	s := sampleBy(t, use, 500, time.Second/999, func(s *Sample) {
		if s.Partial {
			return
		}
		seen++
		if _, ok := s.Regs.HandlerContext(); ok {
			waiting++
		}
	}, attach(t, g.PID, nil))
	// What looks have stopped is no Sample of a round.
	if seen == 0 && s.looks == nil || waiting*50 > seen {
		t.Errorf("%d of %d stops are shown at the first instruction of a handler", waiting, seen)
	}
}

// TestStoppedProcess is shown as stopped and stays so.
func TestStoppedProcess(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "spin.c"), "-t", "2")
	g.Ready()
	if err := ptrace.Kill(g.PID, g.PID, 19); err != nil {
		t.Fatal(err)
	}
	g.WaitFor("the stop", g.Stopped)
	c := attach(t, g.PID, nil)
	s := sampleRounds(t, 20, DefaultPeriod, nil, c)
	if got := share(t, s, profile.Samples, "[stopped]"); got < 0.5 {
		t.Errorf("%.0f %% of the samples are shown as stopped\n%s", 100*got, folded(t, s, profile.Samples))
	}
	release(t, c)
	g.WaitFor("the stop again", g.Stopped)
}

// BenchmarkRoundIdle is a round of waiting threads.
func BenchmarkRoundIdle(b *testing.B) {
	for _, threads := range []string{"100", "1000"} {
		b.Run(threads, func(b *testing.B) {
			benchmarkRound(b, TimersAuto, ptest.Start(b, ptest.BuildC(b, "idle.c"), "-t", threads))
		})
	}
}

// BenchmarkRoundBusy is a round of two running threads beside waiting ones.
func BenchmarkRoundBusy(b *testing.B) {
	for name, use := range map[string]UseTimers{"timers": TimersOnly, "stops": TimersOff} {
		b.Run(name, func(b *testing.B) {
			benchmarkRound(b, use, ptest.Start(b, ptest.BuildC(b, "busyidle.c"), "-b", "2", "-t", "100"))
		})
	}
}

func benchmarkRound(b *testing.B, use UseTimers, g *ptest.Target) {
	g.Ready()
	src := source.New(attach(b, g.PID, nil), openFiles(b), false)
	s := New([]*source.Process{src}, &Options{Ticks: wanting(b, use, DefaultPeriod, src)})
	p := s.processes[0]
	if err := p.begin(0); err != nil {
		b.Fatal(err)
	}
	defer p.close()
	now := time.Duration(0)
	b.ReportAllocs()
	for b.Loop() {
		now += DefaultPeriod
		p.round(context.Background(), now, 1)
	}
}

// TestCompiledCodeIsNamed: code that was compiled at run time has names, even if no name
// is looked up before the sampling is over.
func TestCompiledCodeIsNamed(t *testing.T) { bothAtOnce(t, testCompiledCode) }

func testCompiledCode(t *testing.T, use UseTimers) {
	g := ptest.Start(t, ptest.BuildC(t, "jit.c"))
	g.Ready()
	// On a busy machine a few samples have much of the time.
	s := sampleBy(t, use, int64(ptest.Rounds(500, 1500, 1500)), time.Second/999, nil, attach(t, g.PID, nil))
	if got := share(t, s, profile.CPU, "jit_hot"); got < 0.5 { // it is 0.8
		t.Errorf("%.0f %% of the time is in jit_hot\n%s", 100*got, folded(t, s, profile.CPU))
	}
	g.Finish()
}

// TestLooksAreNoStops: a thread that a look has stopped is not shown as stopped, also where the look lasts from round to round
// because processors are busy.
func TestLooksAreNoStops(t *testing.T) {
	busy := ptest.Start(t, ptest.BuildC(t, "spin.c"), "-t", "8")
	busy.Ready()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"))
	g.Ready()
	s := sampleBy(t, TimersOff, int64(ptest.Rounds(300, 1000, 5000)), time.Second/999, nil, attach(t, g.PID, nil))
	if got := share(t, s, profile.Samples, "[stopped]"); got > 0 {
		t.Errorf("%.2f %% of the samples are shown as stopped\n%s", 100*got, folded(t, s, profile.Samples))
	}
}

// TestVforkParent: a thread waits in vfork(2), where its return address is in a register and nothing can stop it. Its callers are shown.
func TestVforkParent(t *testing.T) {
	bothAtOnce(t, func(t *testing.T, use UseTimers) {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "vforkwait.c"), "-t", "1")
		g.Ready()
		s := sampleBy(t, use, 20, time.Second/99, nil, attach(t, g.PID, nil))
		if text := folded(t, s, profile.Wall); !strings.Contains(text, "hang;vfork;[vfork]") {
			t.Errorf("%s", text)
		}
	})
}
