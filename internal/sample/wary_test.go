package sample

import (
	"context"
	"strings"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/source"
	"ptools/pctl/control"
)

// startTransfers starts a process whose threads transfer much data in one call, a little at a time.
func startTransfers(t *testing.T) *ptest.Target {
	t.Helper()
	g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: ptest.NewTruth(t)}, ptest.BuildC(t, "transfers.c"))
	g.Ready()
	return g
}

// shorts returns how many calls of a target have returned less than asked for.
func shorts(g *ptest.Target) (n uint64) {
	for i := range ptest.Kinds {
		n += g.Truth.Kind(i)
	}
	return n
}

// TestTimersCostNoCall: with timers no transfer is cut and no call interrupted, neither by the sampling nor by its
// beginning and end. That holds whether the process is controlled or only watched.
func TestTimersCostNoCall(t *testing.T) {
	t.Parallel()
	needTimers(t)
	const period = time.Second / 199
	g := startTransfers(t)
	for range ptest.Rounds(2, 3, 20) {
		done := make(chan struct{})
		sampleFor(t, source.Watch(g.PID, done, openFiles(t), false), TimersOnly, period, 300*time.Millisecond)
		c, err := control.Attach(context.Background(), g.PID, nil)
		if err != nil {
			t.Fatal(err)
		}
		sampleFor(t, source.New(c, openFiles(t), false), TimersOnly, period, 300*time.Millisecond)
		release(t, c)
		if space := c.Space(); space != nil {
			space.Close()
		}
	}
	if n, eintr := shorts(g), g.Truth.EINTR(); n != 0 || eintr != 0 {
		t.Errorf("%d calls of %d came out short, %d with EINTR", n, g.Truth.Work(), eintr)
	}
}

// TestStopsCostFewTransfers: without timers a thread may be stopped in such a call once, before it was ever met in
// one. So may the two threads that never sleep in theirs.
func TestStopsCostFewTransfers(t *testing.T) {
	const period = time.Second / 199
	g := startTransfers(t)
	c := attach(t, g.PID, nil)
	s := sampleFor(t, source.New(c, openFiles(t), false), TimersOff, period, time.Second)
	n, all := shorts(g), len(g.Threads())
	t.Logf("%d calls of %d came out short in %d rounds; %d stops, %d threads not stopped", n, g.Truth.Work(), s.Cost().Rounds, s.Cost().Stops, s.Cost().Spared)
	if n > uint64(all) {
		t.Errorf("%d calls of %d threads came out short", n, all)
	}
	if s.Cost().Spared == 0 {
		t.Error("every thread that ran was stopped")
	}
}

// sampleFor samples one source for a time.
func sampleFor(t *testing.T, src *source.Process, use UseTimers, period, d time.Duration) *Sampler {
	t.Helper()
	s := New([]*source.Process{src}, &Options{Period: period, For: d, Ticks: wanting(t, use, period, src)})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWaryOfTransfers: a thread that was met asleep in a call that a stop cuts is not stopped when it runs, for ten
// seconds; one that was met in another call is.
func TestWaryOfTransfers(t *testing.T) {
	const rounds = 20
	for _, test := range []struct {
		name  string
		nr    int64
		args  [6]uint64
		state byte
		stops bool
	}{
		{"write", 1, [6]uint64{3, 0, 1 << 20}, 'S', false},
		{"write of a byte", 1, [6]uint64{3, 0, 1}, 'S', true},
		{"write to a disk", 1, [6]uint64{3, 0, 1 << 20}, 'D', true},
		{"read of a terminal", 0, [6]uint64{3, 0, 100}, 'S', false},
		{"read of a pipe", 0, [6]uint64{4, 0, 100}, 'S', true},
		{"futex", 202, [6]uint64{}, 'S', true},
	} {
		w := newWorld(1)
		th := w.threads[100]
		th.block(test.nr, 0x10, 0x11)
		th.call.Args, th.state = test.args, test.state
		c := &fakeClock{run: func(_, to time.Duration) {
			if to >= 15*time.Millisecond {
				th.spin(0x20)
				th.sched.Run += 1e6
			}
		}}
		s := run(t, w, c, rounds, nil)
		if (th.stops > 0) != test.stops {
			t.Errorf("%s: %d stops", test.name, th.stops)
		}
		if out := folded(t, s, profile.Samples); strings.Contains(out, "[not stopped]") == test.stops {
			t.Errorf("%s: folded %q", test.name, out)
		}
	}
	var w wariness
	w.slept(time.Second)
	first := w.until
	w.stopped(time.Second)
	w.stopped(2 * time.Second)
	if first != 11*time.Second || w.until != 22*time.Second {
		t.Errorf("wary until %v, then %v", first, w.until)
	}
}

// TestNoStopForARegisterInATransfer: a thread that sleeps in one is not stopped to complete its stack.
func TestNoStopForARegisterInATransfer(t *testing.T) {
	w := newWorld(1)
	th := w.threads[100]
	th.block(1, 0x10, 0x11)
	th.call = procfs.Syscall{Nr: 1, Args: [6]uint64{3, 0, 1 << 20}, SP: th.call.SP, PC: th.call.PC}
	th.hidden = true
	if run(t, w, &fakeClock{}, 20, nil); th.stops != 0 {
		t.Errorf("%d stops", th.stops)
	}
}
