package sample

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ptools/internal/profile"
)

// runCounted is run on a machine where as many threads run as running says.
func runCounted(t *testing.T, w *fakeWorld, c *fakeClock, rounds, running int) *Sampler {
	t.Helper()
	file := filepath.Join(t.TempDir(), "loadavg")
	if err := os.WriteFile(file, fmt.Appendf(nil, "0.50 0.40 0.30 %d/900 4242\n", running), 0o600); err != nil {
		t.Fatal(err)
	}
	s := New([]*Source{w.source()}, &Options{
		Period: 10 * time.Millisecond, For: time.Duration(rounds) * 10 * time.Millisecond, Clock: c,
	})
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	s.census = census{file: f}
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *fakeWorld) reads() int {
	n := 0
	for _, t := range w.threads {
		n += t.reads
	}
	return n
}

// TestWhoRestsIsNotRead: once all have been seen blocked, nobody is read while
// nobody runs; with somebody running who is not known, everybody is.
func TestWhoRestsIsNotRead(t *testing.T) {
	for _, c := range []struct{ running, atMost, atLeast int }{{1, 1000, 0}, {2, 1 << 30, 5000}} {
		w := newWorld(100)
		s := runCounted(t, w, &fakeClock{}, 50, c.running)
		if n := w.reads(); n > c.atMost || n < c.atLeast {
			t.Errorf("%d running: %d readings of 100 threads in 50 rounds", c.running, n)
		}
		if got := s.Profile().Total().Samples; got != 5000 {
			t.Errorf("%d samples", got)
		}
	}
}

// TestRestingChangesNothing: threads that spin, wake, start and end give the same
// profile whether the others are read or not.
func TestRestingChangesNothing(t *testing.T) {
	profileOf := func(running int) (string, string, int) {
		w := newWorld(50)
		load := w.load(rand.New(rand.NewPCG(7, 7)), 2)
		round := 0
		c := &fakeClock{run: func(from, to time.Duration) {
			switch round++; round % 10 {
			case 1, 2, 3:
				load(from, to)
			case 4: // only the two
				for _, t := range w.sortedThreads()[:2] {
					t.sched.Run += uint64(to - from)
				}
			case 5:
				w.start(1000+round).block(202, 0x10, 0x1003)
			case 8:
				w.end(1000 + round - 3)
			}
		}}
		s := runCounted(t, w, c, 200, running)
		return folded(t, s, profile.Samples), folded(t, s, profile.CPU), w.reads()
	}
	samples, cpu, reads := profileOf(3)
	wantSamples, wantCPU, allReads := profileOf(1000)
	if samples != wantSamples || cpu != wantCPU {
		t.Errorf("read sparingly:\n%s%s\nread all:\n%s%s", samples, cpu, wantSamples, wantCPU)
	}
	if reads*3 > allReads*2 {
		t.Errorf("%d readings instead of %d", reads, allReads)
	}
}

func TestParseRunning(t *testing.T) {
	for line, want := range map[string]int{
		"0.20 0.18 0.12 1/80 11206\n":    1,
		"12.0 9.99 100.12 345/8000 7\n":  345,
		"0.00 0.00 0.00 0/0 0\n":         0,
		"0.00 0.00 0.00 -1/0 0\n":        0,
		"0.00 0.00 0.00 1\n":             0,
		"0.00 0.00\n":                    0,
		"":                               0,
		"0 0 0 99999999999999999999/1 1": 0,
	} {
		n, ok := parseRunning([]byte(line))
		if ok != (want > 0) || ok && n != want {
			t.Errorf("%q: %d, %v", line, n, ok)
		}
	}
}

func FuzzParseRunning(f *testing.F) {
	f.Add([]byte("0.20 0.18 0.12 1/80 11206\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if n, ok := parseRunning(line); ok && n <= 0 {
			t.Errorf("%q: %d", line, n)
		}
	})
}
