package sample

import (
	"testing"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/ptest"
	"ptools/internal/source"
)

// TestTapsDoNotQueue: while somebody reads the timers, the others go on with what has been found for them. The last Read of each takes all.
func TestTapsDoNotQueue(t *testing.T) {
	w := openWindows(t, WindowsOptions{Period: time.Second / 499})
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000000")
	tap, err := w.Tap(g.PID, false)
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	ticks := 0
	count := func(r *perfevent.Record) {
		if r.Kind == perfevent.Tick {
			ticks++
		}
	}
	await := func() {
		used := func() time.Duration {
			d, err := source.ProcessorTime(g.PID)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		for before := used(); used()-before < 100*time.Millisecond; {
			time.Sleep(time.Millisecond)
		}
	}
	w.mu.Lock() // as who reads them has it
	tap.take(func(*perfevent.Record) {})
	await()
	soon(t, "a Read", func() { tap.Read(count) })
	if ticks > 0 {
		t.Errorf("%d ticks, which nobody has read", ticks)
	}
	w.drain()
	soon(t, "a Read", func() { tap.Read(count) })
	w.mu.Unlock()
	if ticks < 10 {
		t.Errorf("%d ticks in 100 ms of processor time at 499 Hz", ticks)
	}
	ticks = 0
	await()
	if tap.ReadAll(count); ticks < 10 {
		t.Errorf("%d ticks in further 100 ms", ticks)
	}
}
