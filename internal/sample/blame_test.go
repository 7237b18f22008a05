package sample

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"ptools/internal/locks"
	"ptools/internal/perfevent"
	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/source"
)

// blamed is the waiting of a thread according to the profile.
type blamed struct {
	profile.DocWait
	thread string
	stack  []string
	waits  int64
	time   time.Duration
}

// blames returns the waits that a sampler has found.
func blames(t testing.TB, s *Sampler) (list []blamed) {
	t.Helper()
	var b bytes.Buffer
	if err := s.Profile().Contention().Write(&b, profile.JSON, nil); err != nil {
		t.Fatal(err)
	}
	var d profile.Document
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Samples {
		w := blamed{DocWait: d.Waits[*c.Wait], thread: d.Threads[c.Thread].Name, waits: c.Samples, time: time.Duration(c.WallNS)}
		for _, l := range c.Stack {
			for _, n := range d.Locations[l].Lines {
				w.stack = append(w.stack, d.Functions[n.Function].Name)
			}
		}
		list = append(list, w)
	}
	return list
}

// blameFor samples a process for a time.
func blameFor(t testing.TB, use UseTimers, d time.Duration, pid int, with bool) *Sampler {
	t.Helper()
	return blameWith(t, use, pid, with, &Options{For: d})
}

// blameWith samples a process as options say.
func blameWith(t testing.TB, use UseTimers, pid int, with bool, o *Options) *Sampler {
	t.Helper()
	timers, err := OpenTimers(use, TimersOptions{Period: cmp.Or(o.Period, DefaultPeriod), Blame: with})
	if err != nil {
		t.Fatal(err)
	}
	defer timers.Close()
	if with {
		o.Blame = timers.Blame()
	}
	var src *source.Process
	if timers != nil {
		o.Ticks = timers
		src = source.Watch(pid, make(chan struct{}), openFiles(t), true)
	} else {
		src = source.New(attach(t, pid, nil), openFiles(t), false)
	}
	if err := timers.Want(pid); err != nil {
		t.Fatal(err)
	}
	s := New([]*source.Process{src}, o)
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// contention is what contend.c counts of its locks itself, in nanoseconds.
type contention struct{ waited, held, whileHeld, whileFree [3]float64 }

func contentionOf(truth *ptest.Truth) (c contention) {
	for i := range c.waited {
		c.waited[i] = float64(truth.Spent(i, perfevent.Now()))
		c.held[i] = float64(truth.Spent(8+i, perfevent.Now()))
		c.whileHeld[i], c.whileFree[i] = float64(truth.Share(16+i)), float64(truth.Share(24+i))
	}
	return c
}

func sum(v [3]float64) float64 { return v[0] + v[1] + v[2] }

// blameSums are the sums of a profile of contend.c, by lock.
type blameSums struct {
	all, right, wrong [3]float64
	unnamed           float64
	why               map[string]time.Duration
}

func sumBlames(t *testing.T, list []blamed) blameSums {
	s := blameSums{why: make(map[string]time.Duration)}
	functions := []string{"hold_a", "hold_b", "hold_c"}
	for _, b := range list {
		i := slices.Index([]string{"lock_a", "lock_b", "lock_c"}, b.Lock.Symbol)
		s.why[b.Unknown] += b.time
		switch {
		case i < 0:
			t.Errorf("lock %+v", b.Lock)
			continue
		case b.Function == "":
			s.unnamed += float64(b.time) // it had waited before names were known
		case b.Function != functions[i]:
			t.Errorf("waiting function %q for %s", b.Function, b.Lock.Symbol)
		}
		s.all[i] += float64(b.time)
		switch {
		case b.Unknown != "":
		case slices.Contains(b.stack, functions[i]):
			s.right[i] += float64(b.time)
		default:
			s.wrong[i] += float64(b.time)
			t.Logf("%v of %s on %q", b.time, b.Lock.Symbol, b.stack)
		}
	}
	return s
}

// TestBlame: eight threads want three locks. Each lock is blamed on the function that holds it, for as long as threads
// wait for it by the program's own count. No thread is stopped for that, and no call is cut short.
func TestBlame(t *testing.T) { bothWays(t, testBlame) }

func testBlame(t *testing.T, use UseTimers) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "contend.c"))
	g.Ready()
	var before, after contention // when sampling begins, and with the last round
	seconds, period := ptest.Rounds(8, 8, 20), DefaultPeriod
	if testing.Short() { // as many rounds in less time
		seconds, period = 1, 4*time.Millisecond
	}
	s := blameWith(t, use, g.PID, true, &Options{
		Period:   period,
		For:      time.Duration(seconds) * time.Second,
		Begun:    func(context.Context) error { before = contentionOf(truth); return nil },
		Progress: func(*Progress) { after = contentionOf(truth) },
	})
	got := sumBlames(t, blames(t, s))
	all, known := sum(got.all), sum(got.right)+sum(got.wrong)
	var waited [3]float64
	for i := range waited {
		waited[i] = after.waited[i] - before.waited[i]
	}
	t.Logf("waited %.2f s, the program says %.2f s; %.1f %% blamed; why not: %v", all/1e9, sum(waited)/1e9, 100*known/all, got.why)
	whileFree := sum(after.whileFree) - sum(before.whileFree)
	whileFree /= whileFree + sum(after.whileHeld) - sum(before.whileHeld)
	free := float64(got.why[locks.Free])
	if free/all > whileFree+0.04 {
		t.Errorf("no thread held it for %.1f %% of the waiting, by the program's count %.1f %%", 100*free/all, 100*whileFree)
	}
	if use == TimersOnly && known < 0.75*(all-free) {
		t.Errorf("while locks were held %.1f %% of the waiting is blamed", 100*known/(all-free))
	}
	t.Logf("no thread held it: %.1f %%, the program says %.1f %%; %.1f %% of the rest blamed", 100*free/all, 100*whileFree, 100*known/(all-free))
	// A share of 600 rounds has a standard error of 0.8 points. If processors are short, rounds are missed, and their
	// time counts as what the next round sees. That round comes when a processor is free, which is not a random moment.
	rounds, missed := float64(s.Cost().Rounds), float64(s.Cost().Missed)
	slack := 3*max(1, math.Sqrt(600/rounds)) + 30*missed/(rounds+missed)
	// The program's count also includes the time that a woken thread waits for a processor, most of it for the lock whose
	// holders run.
	slack += 100 * max(0, 1-all/sum(waited))
	t.Logf("%.0f rounds, %.0f missed, %d late: shares within %.1f points", rounds, missed, s.Cost().Late, slack)
	if use == TimersOff {
		slack += 2 // while threads are stopped others wait for them
	}
	for i, name := range []string{"hold_a", "hold_b", "hold_c"} {
		truth := 100 * waited[i] / sum(waited)
		right, share := 100*got.right[i]/known, 100*got.all[i]/all
		t.Logf("%s: %.1f %% of what is blamed, %.1f %% of all that was waited; the program says %.1f %%, and that it held the lock for %.2f s",
			name, right, share, truth, (after.held[i]-before.held[i])/1e9)
		if math.Abs(share-truth) > slack {
			t.Errorf("%s: %.1f %% of the waiting, %.1f %% by the program's count", name, share, truth)
		}
		if got.wrong[i] > 0.01*got.right[i] || got.right[i] == 0 {
			t.Errorf("%s: right %v, wrong %v", name, time.Duration(got.right[i]), time.Duration(got.wrong[i]))
		}
	}
	t.Logf("functions that waited %v have no name", time.Duration(got.unnamed))
	if use == TimersOnly && s.Cost().Stops != 0 {
		t.Errorf("%d stops", s.Cost().Stops)
	}
	if n := truth.EINTR(); n != 0 {
		t.Errorf("%d EINTRs", n)
	}
	if total := s.Profile().Contention().Total(); total.CPU != 0 || float64(total.Wall) != all {
		t.Errorf("total %+v, sum %v", total, all)
	}
	g.Finish()
}

// TestBlameCrowd: a thousand threads wait for one lock, and each wait is blamed on its holder. The cost is printed.
func TestBlameCrowd(t *testing.T) {
	t.Parallel()
	const threads = 1000
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "waits.c"), "crowd", strconv.Itoa(threads))
	g.Ready()
	for _, with := range []bool{false, true} {
		if testing.Short() && !with {
			continue // what it costs is printed to be compared
		}
		var before, after syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &before)
		s := blameFor(t, TimersAuto, 2*time.Second, g.PID, with)
		syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
		t.Logf("blame %v: %.2f %% of a processor in 2 s at 99 Hz, %d stops", with, float64(used)/2e7, s.Cost().Stops)
		if !with {
			continue
		}
		n := 0
		for _, b := range blames(t, s) {
			if b.TID == g.PID && b.Lock.Symbol == "normal" && b.time > 1500*time.Millisecond {
				n++
			}
		}
		if n != threads {
			t.Errorf("%d threads of %d", n, threads)
		}
	}
}
