package sample

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptest"
)

func (w *fakeWorld) reads() int {
	n := 0
	for _, t := range w.threads {
		n += t.reads
	}
	return n
}

// TestRestingThreadsAreNotRead: once all threads have been seen blocked, only the sum is
// read. If that is not allowed, each thread is read.
func TestRestingThreadsAreNotRead(t *testing.T) {
	for _, c := range []struct {
		refuse          error
		atMost, atLeast int
	}{{nil, 100 * (lately + 10), 0}, {syscall.EPERM, 1 << 30, 5000}} {
		w := newWorld(100)
		w.refuse = c.refuse
		s := run(t, w, &fakeClock{}, 50, nil)
		if n := w.reads(); n > c.atMost || n < c.atLeast {
			t.Errorf("%v: %d readings of 100 threads in 50 rounds", c.refuse, n)
		}
		if c.refuse != nil && w.sums != 1 {
			t.Errorf("asked %d times in spite of %v", w.sums, c.refuse)
		}
		if got := s.Profile().Total().Samples; got != 5000 {
			t.Errorf("%d samples", got)
		}
	}
}

// TestRestingChangesNothing: threads that spin, wake, start and end give the same
// profile whether the others are read or not.
func TestRestingChangesNothing(t *testing.T) {
	profileOf := func(refuse error) (string, string, int) {
		w := newWorld(200)
		w.refuse = refuse
		load := w.load(rand.New(rand.NewPCG(7, 7)), 2)
		round := 0
		c := &fakeClock{run: func(from, to time.Duration) {
			switch round++; round % 20 {
			case 1, 2, 3:
				load(from, to)
			case 5:
				w.start(1000+round).block(202, 0x10, 0x1003)
			case 8:
				w.end(1000 + round - 3)
			default: // only the two
				for _, t := range w.sortedThreads()[:2] {
					t.sched.Run += uint64(to - from)
				}
			}
		}}
		s := run(t, w, c, 200, nil)
		return folded(t, s, profile.Samples), folded(t, s, profile.CPU), w.reads()
	}
	samples, cpu, reads := profileOf(nil)
	wantSamples, wantCPU, allReads := profileOf(syscall.EPERM)
	if samples != wantSamples || cpu != wantCPU {
		t.Errorf("read sparingly:\n%s%s\nread all:\n%s%s", samples, cpu, wantSamples, wantCPU)
	}
	if reads*2 > allReads {
		t.Errorf("%d readings instead of %d", reads, allReads)
	}
}

// TestMovingWhileBeingRead: threads move, start and end at any moment, also while a
// round reads them. A thread that has not moved during a round is shown in it where it is.
func TestMovingWhileBeingRead(t *testing.T) {
	for seed := range uint64(ptest.Rounds(20, 100, 2000)) {
		w := newWorld(30)
		r := rand.New(rand.NewPCG(seed, 1))
		moved := make(map[int]bool) // in this round
		next := 1000
		move := func() {
			threads := w.sortedThreads()
			th := threads[r.IntN(len(threads))]
			switch k := r.IntN(20); {
			case k == 0:
				next++
				w.start(next).block(202, 0x1000)
				moved[next] = true
			case k == 1 && len(threads) > 10:
				w.end(th.tid)
			default:
				th.sched.Run += 5000
				th.block(202, 0x1000+r.Uint64N(1000))
				moved[th.tid] = true
			}
		}
		during := func() {
			if r.IntN(30) == 0 {
				move()
			}
		}
		w.onSched = func(*fakeThread) { during() }
		w.onSum = during
		c := &fakeClock{run: func(_, _ time.Duration) {
			clear(moved)
			for range r.IntN(3) {
				move()
			}
			clear(moved)
		}}
		wrong := 0
		run(t, w, c, 200, func(s *Sample) {
			levels := s.Space.Levels(s.Stack, nil)
			th := w.threads[s.TID]
			if th == nil || moved[s.TID] {
				return
			}
			if got := levels[len(levels)-1].PC; got != th.stack[len(th.stack)-1] && len(th.stack) == 1 && wrong == 0 {
				wrong++
				t.Errorf("seed %d: thread %d is shown at %#x and is at %#x", seed, s.TID, got, th.stack)
			}
		})
	}
}

// TestSumOfThreads: the kernel's sum for a process that rests is that of its
// threads and of those that have ended, which does not change.
func TestSumOfThreads(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"), "-t", "100")
	g.Ready()
	stats, err := procfs.OpenTaskStats(g.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer stats.Close()
	if _, err := stats.Sum(); err == syscall.EPERM {
		t.Skip("needs CAP_NET_ADMIN")
	}
	tids, err := procfs.Tasks(g.PID, nil)
	if err != nil {
		t.Fatal(err)
	}
	living := func() (n uint64) {
		for _, tid := range tids {
			task, err := procfs.OpenTask(g.PID, tid)
			if err != nil {
				t.Fatal(err)
			}
			sched, err := task.SchedStat()
			task.Close()
			if err != nil {
				t.Fatal(err)
			}
			n += sched.Slices
		}
		return n
	}
	var ended []uint64
	for len(ended) < 5 {
		before := living()
		sum, err := stats.Sum()
		if err != nil {
			t.Fatal(err)
		}
		if living() == before {
			ended = append(ended, sum.Slices-before)
		}
	}
	if slices.Max(ended) != slices.Min(ended) {
		t.Errorf("threads that have ended were put on a processor %d times", ended)
	}
}
