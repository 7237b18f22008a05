package perfevent

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

func (p *probed) counters(offs ...uint64) *Counters {
	p.t.Helper()
	c, err := OpenCounters(p.path, offs, p.PID)
	if errors.Is(err, fs.ErrPermission) {
		p.t.Skipf("%v: needs CAP_BPF and CAP_PERFMON", err)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// TestCounters: threads that did not exist when counting began are counted too.
func TestCounters(t *testing.T) {
	p := startProbed(t)
	p.call("5")
	c := p.counters(p.off, p.off)
	if perf, other, _ := p.call("1000"); perf+other != 0 {
		t.Errorf("%d signals from counting", perf+other)
	}
	p.call("t234")
	for i := range 2 {
		if n := c.Count(i); n != 1234 {
			t.Errorf("counted %d, want 1234", n)
		}
	}
	if n := c.Count(2); n != 0 {
		t.Errorf("count of an offset that is not there is %d", n)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCountersErrors(t *testing.T) {
	p := startProbed(t)
	p.counters(p.off).Close()
	for _, c := range []struct {
		name string
		path string
		offs []uint64
		pid  int
		want error
	}{
		{"nothing to count", p.path, nil, p.PID, syscall.EINVAL},
		{"no process", p.path, []uint64{p.off}, 1 << 22, syscall.ESRCH},
		{"no file", "/nonexistent", []uint64{p.off}, p.PID, fs.ErrNotExist},
	} {
		got, err := OpenCounters(c.path, c.offs, c.pid)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err == nil {
			got.Close()
		}
	}
}

// BenchmarkHit is the price of a hit that is only counted, both ways.
func BenchmarkHit(b *testing.B) {
	b.Run("none", func(b *testing.B) {
		p := startProbed(b)
		b.ResetTimer()
		p.call(fmt.Sprint(b.N))
	})
	b.Run("event", func(b *testing.B) {
		p := startProbed(b)
		e := p.open(nil)
		b.ResetTimer()
		p.call(fmt.Sprint(b.N))
		b.StopTimer()
		e.Close()
	})
	b.Run("counters", func(b *testing.B) {
		p := startProbed(b)
		c := p.counters(p.off)
		b.ResetTimer()
		p.call(fmt.Sprint(b.N))
		b.StopTimer()
		c.Close()
	})
}

// BenchmarkCloseCounters closes fifty probes.
func BenchmarkCloseCounters(b *testing.B) {
	p := startProbed(b)
	offs := make([]uint64, 50)
	for i := range offs {
		offs[i] = p.off
	}
	for b.Loop() {
		b.StopTimer()
		c := p.counters(offs...)
		b.StartTimer()
		c.Close()
	}
}
