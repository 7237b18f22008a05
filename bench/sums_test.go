package main

import (
	"os"
	"ptools/internal/procfs"
	"testing"
	"time"
)

func TestClockWatch(t *testing.T) {
	t0 := time.Unix(100, 0)
	c := &clockWatch{times: []time.Time{t0, t0.Add(time.Second), t0.Add(2 * time.Second)}, used: []time.Duration{0, 100, 300}}
	if got, err := c.between(t0.Add(time.Second/2), t0.Add(3*time.Second/2)); err != nil || got != 150 {
		t.Errorf("%v, %v, want 150", got, err)
	}
	if _, err := c.between(t0.Add(-1), t0); err == nil {
		t.Error("a moment before the first reading has a value")
	}
	if _, err := c.between(t0, t0.Add(3*time.Second)); err == nil {
		t.Error("a moment after the last reading has a value")
	}
}

// TestProcessTime compares the two accounts of a process: this process, which works.
func TestProcessTime(t *testing.T) {
	pid := os.Getpid()
	c := watchClock(pid)
	begin, err := processTime(pid)
	used := begin
	for err == nil && used < begin+50*time.Millisecond {
		used, err = processTime(pid)
	}
	c.stop()
	last := c.used[len(c.used)-1]
	if err != nil || last < used || c.used[0] > used {
		t.Errorf("used %v, by the readings %v to %v, %v", used, c.used[0], last, err)
	}
	st, err := procfs.ReadStat(pid)
	if err != nil {
		t.Error(err)
	}
	const tick = 10 * time.Millisecond
	if ticks := time.Duration(st.UTime+st.STime) * tick; ticks > last+10*tick || ticks < last-2*tick {
		t.Errorf("%v by the ticks, %v by the clock", ticks, last)
	}
}
