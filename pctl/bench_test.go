package pctl

import (
	"strconv"
	"testing"

	"ptools/internal/ptest"
)

// BenchmarkGrabCached is a read-only grab, and its release, of a process whose
// handle is cached.
func BenchmarkGrabCached(b *testing.B) {
	g := ptest.Start(b, "sleep", "1000")
	s := session(b, nil)
	o := &GrabOptions{ReadOnly: true}
	grab(b, s, g.PID, o).Close()
	b.ReportAllocs()
	for b.Loop() {
		p, err := s.Grab(bg, g.PID, o)
		if err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
}

// BenchmarkRequest is a request to the controller of a running process.
func BenchmarkRequest(b *testing.B) {
	g := ptest.Start(b, "sleep", "1000")
	c := grab(b, session(b, nil), g.PID, nil).c
	for b.Loop() {
		if err := c.Do(bg, func() {}); err != nil {
			b.Fatal(err)
		}
	}
}

// byThreads runs a benchmark on processes of some sizes.
func byThreads(b *testing.B, f func(b *testing.B, g *ptest.Target)) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			g := ptest.Start(b, ptest.BuildC(b, "idle.c"), "-t", strconv.Itoa(n-1))
			g.Ready()
			f(b, g)
		})
	}
}

// BenchmarkGrab is a grab for control and its release.
func BenchmarkGrab(b *testing.B) {
	byThreads(b, func(b *testing.B, g *ptest.Target) {
		s := session(b, nil)
		for b.Loop() {
			if err := grab(b, s, g.PID, nil).Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPause stops every thread, reads the registers, and resumes;
// BenchmarkPauseStacks copies the stacks too.
func BenchmarkPause(b *testing.B) { benchPause(b, func(*Snapshot) error { return nil }) }
func BenchmarkPauseStacks(b *testing.B) {
	benchPause(b, func(s *Snapshot) error { s.CopyStacks(); return nil })
}

func benchPause(b *testing.B, f func(*Snapshot) error) {
	byThreads(b, func(b *testing.B, g *ptest.Target) {
		p := grab(b, session(b, nil), g.PID, nil)
		for b.Loop() {
			if err := p.Pause(bg, f); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkLookup is a symbol look-up by address that has been made before.
func BenchmarkLookup(b *testing.B) {
	g := ptest.Start(b, ptest.BuildC(b, "idle.c"))
	g.Ready()
	p := grab(b, session(b, nil), g.PID, &GrabOptions{ReadOnly: true})
	var main uint64
	for _, s := range p.space().ByName("", "main") {
		main = s.Addr
	}
	b.ReportAllocs()
	for b.Loop() {
		if f := p.Lookup(main); f[0].Func == "" {
			b.Fatal(f)
		}
	}
}

// BenchmarkStack unwinds and names a copied stack, not having done so before.
func BenchmarkStack(b *testing.B) {
	g := ptest.Start(b, ptest.BuildC(b, "idle.c"))
	g.Ready()
	p := grab(b, session(b, nil), g.PID, nil)
	var t *Thread
	if err := p.Pause(bg, func(s *Snapshot) error {
		s.CopyStacks()
		t = s.Threads()[0]
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		again := *t
		if frames, err := again.Stack(); err != nil || len(frames) == 0 {
			b.Fatal(frames, err)
		}
	}
}
