package sample

import (
	"math"
	"strings"
	"testing"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptest"
)

// startUring starts the program that has workers of io_uring.
func startUring(t *testing.T) *ptest.Target {
	t.Helper()
	g := ptest.Start(t, ptest.BuildC(t, "uring.c"))
	if line := g.Line(); line != "ready" {
		t.Skipf("the kernel lets us have no io_uring: %q", line)
	}
	return g
}

// workersRan returns the processor time of the kernel's workers in a process, and that of all its threads. Workers end only if
// they have nothing to do for seconds.
func workersRan(t *testing.T, pid int) (workers, all float64) {
	t.Helper()
	tids, err := procfs.Tasks(pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tid := range tids {
		ran := float64(schedstatOf(t, pid, tid).Run)
		if name, err := procfs.ReadComm(pid, tid); err == nil && strings.HasPrefix(name, "iou-wrk-") {
			workers += ran
		}
		all += ran
	}
	return workers, all
}

// checkWorkers compares the share of the kernel's workers with what the kernel says.
func checkWorkers(t *testing.T, s *Sampler, workers, all float64) {
	t.Helper()
	want, got, n := workers/all, share(t, s, profile.CPU, kernelWorker), float64(max(s.Cost().Ticks, 1))
	if want == 0 || math.Abs(got-want) > 0.05+5*math.Sqrt(want*(1-want)/n) {
		t.Errorf("workers have %.1f %% of the processor time, not %.1f %%; %d samples\n%s", 100*got, 100*want, s.Cost().Ticks, folded(t, s, profile.CPU))
	}
}

// TestWorkers: the time of io_uring's workers is theirs, and so is the time in which they wait.
func TestWorkers(t *testing.T) {
	t.Parallel()
	needTimers(t)
	g := startUring(t)
	c := attach(t, g.PID, nil)
	workers, all := workersRan(t, g.PID)
	s := sampleBy(t, TimersOnly, int64(ptest.Rounds(500, 1500, 5000)), time.Second/499, nil, c)
	workersNow, allNow := workersRan(t, g.PID)
	checkWorkers(t, s, workersNow-workers, allNow-all)
	if got := share(t, s, profile.Wall, kernelWorker); got < 0.2 {
		t.Errorf("workers have %.1f %% of the wall time of two threads or more\n%s", 100*got, folded(t, s, profile.Wall))
	}
}

// TestWorkersByStops is TestWorkers for a sampling that stops threads: not these.
func TestWorkersByStops(t *testing.T) {
	t.Parallel()
	g := startUring(t)
	c := attach(t, g.PID, nil)
	workers, all := workersRan(t, g.PID)
	s := sampleBy(t, TimersOff, int64(ptest.Rounds(200, 500, 2000)), time.Second/199, nil, c)
	workersNow, allNow := workersRan(t, g.PID)
	checkWorkers(t, s, workersNow-workers, allNow-all)
	if got := share(t, s, profile.Wall, kernelWorker); got < 0.2 {
		t.Errorf("workers have %.1f %% of the wall time of two threads or more\n%s", 100*got, folded(t, s, profile.Wall))
	}
}

// TestFollowWorkers is TestWorkers for a process of a tree.
func TestFollowWorkers(t *testing.T) {
	t.Parallel()
	g := startUring(t)
	workers, all := workersRan(t, g.PID)
	var workersThen, allThen float64
	read := make(chan struct{})
	s := followed(t, perfevent.FollowAuto, g, func() {
		time.AfterFunc(time.Duration(ptest.Rounds(1000, 2000, 5000))*time.Millisecond, func() {
			workersThen, allThen = workersRan(t, g.PID)
			close(read)
			g.Kill()
		})
	})
	<-read
	checkWorkers(t, s, workersThen-workers, allThen-all)
}
