package pctl

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"

	"ptools/internal/ptest"
)

// TestCloseWaits: each Close, first or later, of the Process or of the Session, returns when
// the process is free.
func TestCloseWaits(t *testing.T) {
	g, _ := startSpin(t)
	s := NewSession(nil)
	p := grab(t, s, g.PID, nil)
	busy, free := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { p.c.Do(bg, func() { close(busy); <-free }) })
	<-busy
	closing := func(how string, f func() error) {
		if err := f(); err != nil {
			t.Errorf("%s: %v", how, err)
		}
		if by := g.TracerPID(); by != 0 {
			t.Errorf("%s returned, and it is traced by %d", how, by)
		}
	}
	wg.Go(func() { closing("Close", p.Close) })
	g.WaitFor("Close", func() bool { return p.open("test") != nil })
	wg.Go(func() { closing("second Close", p.Close) })
	wg.Go(func() { closing("the Session's Close", s.Close) })
	g.WaitFor("the Session's Close", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.closed
	})
	close(free)
	wg.Wait()
	g.AwaitWork(1)
}

// TestCloseOnControl: a call that would wait for its own goroutine is refused.
func TestCloseOnControl(t *testing.T) {
	g, _ := startSpin(t)
	s := session(t, nil)
	p := grab(t, s, g.PID, nil)
	reader := grab(t, s, g.PID, &GrabOptions{ReadOnly: true})
	err := p.Pause(bg, func(*Snapshot) error {
		for what, err := range map[string]error{
			"the Session's Close": s.Close(), "Close": p.Close(), "a reader's Close": reader.Close(),
		} {
			if !errors.Is(err, ErrOnControl) {
				t.Errorf("%s in a Pause: %v", what, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	var wg sync.WaitGroup
	p.Pause(bg, func(*Snapshot) error {
		wg.Go(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		g.WaitFor("Close", func() bool { all, _ := s.registry.Len(); return all == 0 })
		if _, err := s.Grab(bg, g.PID, nil); !errors.Is(err, ErrOnControl) {
			t.Errorf("Grab in a Pause of a process that is being closed: %v", err)
		}
		return nil
	})
	wg.Wait()
	for what, err := range map[string]error{
		"read":    func() error { _, err := p.ReadAt(make([]byte, 1), 0); return err }(),
		"threads": func() error { _, err := p.Threads(); return err }(),
		"pause":   p.Pause(bg, nil), "continue": p.Continue(bg), "release": p.Release(bg),
	} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
}

// TestEventsOnControl: Next in a Handler returns the events that are there, and does not wait
// for more, because nothing happens meanwhile. A stream that is opened there has all that
// follow.
func TestEventsOnControl(t *testing.T) {
	g, _ := startCalls(t)
	s := session(t, nil)
	p := grab(t, s, g.PID, nil)
	reader := grab(t, s, g.PID, &GrabOptions{ReadOnly: true})
	counted, err := p.Break(bg, Where{Symbol: "f_push"}, nil) // by the kernel, if it can
	if err != nil {
		t.Fatal(err)
	}
	var hits *Events
	err = p.Pause(bg, func(*Snapshot) error {
		for what, p := range map[string]*Process{"process": p, "reader": reader} {
			if _, err := p.Wait(bg); !errors.Is(err, ErrOnControl) {
				t.Errorf("Wait of the %s in a Pause: %v", what, err)
			}
		}
		stream := p.Events(nil)
		defer stream.Close()
		if e, err := stream.Next(bg); err != nil || e.Kind != KindGrabbed {
			t.Errorf("first event in a Pause: %+v, %v", e, err)
		}
		if e, err := stream.Next(bg); !errors.Is(err, ErrOnControl) {
			t.Errorf("second event in a Pause: %+v, %v", e, err)
		}
		hits = p.Events(&EventOptions{Kinds: []Kind{KindHit}})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if e, err := hits.Next(bg); err != nil || e.Kind != KindHit || e.Addr != counted.Addrs()[0] {
			t.Fatalf("a stream opened in a Pause: %+v, %v", e, err)
		}
	}
}

// TestBreakWhileClosing: no breakpoint is left behind by a reference that is closed while it is
// set.
func TestBreakWhileClosing(t *testing.T) {
	g, _ := startCalls(t)
	s := session(t, nil)
	holder := grab(t, s, g.PID, &GrabOptions{Trap: TrapInt3}) // a uprobe leaves the text later
	addr := symbol(t, holder, "f_push")
	for range ptest.Rounds(50, 200, 5000) {
		p := grab(t, s, g.PID, nil)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := p.Break(bg, Where{Addr: addr}, nil); err != nil && !errors.Is(err, os.ErrClosed) {
				t.Error(err)
			}
		})
		wg.Go(func() { p.Close() })
		wg.Wait()
	}
	ptest.TextIntact(t, g.PID)
}

// TestGoexit: a function that ends the control goroutine, as FailNow of a test does, ends control
// and harms no process.
func TestGoexit(t *testing.T) {
	t.Run("pause", func(t *testing.T) {
		g, _ := startSpin(t)
		p := grab(t, session(t, nil), g.PID, nil)
		events := p.Events(&EventOptions{Kinds: []Kind{KindReleased}})
		returned := false
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.Pause(bg, func(*Snapshot) error { runtime.Goexit(); return nil })
			returned = true
		}()
		<-ended
		if returned {
			t.Error("Pause has returned")
		}
		wantReleased(t, g, events)
	})
	t.Run("handler", func(t *testing.T) {
		g, _ := startCalls(t)
		p := grab(t, session(t, nil), g.PID, nil)
		events := p.Events(&EventOptions{Kinds: []Kind{KindReleased}})
		if _, err := p.Break(bg, Where{Symbol: "f_push"}, func(*Hit) { runtime.Goexit() }); err != nil {
			t.Fatal(err)
		}
		wantReleased(t, g, events)
	})
}

func wantReleased(t *testing.T, g *ptest.Target, events *Events) {
	t.Helper()
	if e, err := events.Next(bg); err != nil || e.Kind != KindReleased {
		t.Errorf("event %v, %v", e.Kind, err)
	}
	if _, err := events.Next(bg); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	<-events.p.Done()
	if by := g.TracerPID(); by != 0 {
		t.Errorf("still traced by %d", by)
	}
	ptest.TextIntact(t, g.PID)
	g.AwaitWork(1)
}
