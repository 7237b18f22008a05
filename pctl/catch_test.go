package pctl

import (
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// TestCatchCrash: the stack of a thread that is about to die of its own fault, and the place and
// the address of the fault.
func TestCatchCrash(t *testing.T) {
	if !ptrace.Supported {
		t.Skip("not on this platform")
	}
	g := ptest.Start(t, ptest.BuildC(t, "./testdata/crash.c"))
	g.Ready()
	p := grab(t, session(t, nil), g.PID, nil)
	events := p.Events(&EventOptions{Kinds: []Kind{KindSignal, KindStopped}})
	var at *Thread
	var fault Delivery
	_, err := p.Catch(bg, func(d *Delivery) {
		if d.Signal != syscall.SIGSEGV {
			return
		}
		if d.Caught() {
			t.Error("it has a handler")
		}
		fault, at = *d, d.Thread()
		d.Hold()
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Stdin.Close()
	for _, want := range []Event{{Kind: KindSignal}, {Kind: KindStopped, Point: PointSignal}} {
		if e, err := events.Next(bg); err != nil || e.Kind != want.Kind || e.Point != want.Point {
			t.Fatalf("event %+v, %v; want %+v", e, err, want)
		}
	}
	if fault.Addr != 0x123 || fault.Code <= 0 || fault.TID != at.TID {
		t.Errorf("fault at %#x, code %d, in thread %d", fault.Addr, fault.Code, fault.TID)
	}
	err = p.Pause(bg, func(s *Snapshot) error { // the others can be looked at, too
		if n := len(s.Threads()); n != 2 {
			t.Errorf("%d threads", n)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := p.Continue(bg); err != nil {
		t.Fatal(err)
	}
	if e, err := p.Wait(bg); err != nil || e.Exited || e.Signal != int(syscall.SIGSEGV) {
		t.Errorf("it ends with %+v, %v", e, err)
	}
	frames, err := at.Stack()
	var names []string
	for _, f := range frames {
		names = append(names, f.Func)
	}
	if err != nil || len(names) < 2 || !slices.Equal(names[:2], []string{"crash", "worker"}) {
		t.Errorf("stack %v, %v", names, err)
	}
}

// TestCatchIsExact: every signal is caught once and delivered, whatever streams of events there
// are.
func TestCatchIsExact(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "sigstorm.c"), "-n", "0")
	g.Ready()
	p := grab(t, session(t, nil), g.PID, nil)
	seen, brief := 0, 0
	if _, err := p.Catch(bg, func(*Delivery) { seen++ }); err != nil {
		t.Fatal(err)
	}
	k, err := p.Catch(bg, func(*Delivery) { brief++ })
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := k.Remove(bg); err != nil {
			t.Error(err)
		}
	}
	if err := p.c.Do(bg, func() { seen, brief = 0, 0 }); err != nil {
		t.Error(err)
	}
	g.WaitFor("signals", func() (enough bool) {
		p.c.Do(bg, func() { enough = seen > 100 })
		return enough
	})
	g.Stdin.Close()
	if e, err := p.Wait(bg); err != nil || !e.Exited || e.Code != 0 {
		t.Errorf("it ends with %+v, %v", e, err)
	}
	<-p.Done()
	if seen == 0 || brief != 0 {
		t.Errorf("%d signals seen, %d after Remove", seen, brief)
	}
	if err := k.Remove(bg); err != nil {
		t.Errorf("Remove after the end: %v", err)
	}
}

// TestHoldWhileStopping: a signal may ask for a rendezvous just when every thread is being
// stopped, its own among them.
func TestHoldWhileStopping(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "sigstorm.c"), "-n", "4000") // with a longer queue the kernel can lose a signal's information
	g.Ready()
	p := grab(t, session(t, nil), g.PID, nil)
	events := p.Events(&EventOptions{Kinds: []Kind{KindStopped}})
	if _, err := p.Catch(bg, (*Delivery).Hold); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var over atomic.Bool
	wg.Go(func() {
		for !over.Load() {
			if err := p.Pause(bg, func(*Snapshot) error { return nil }); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range ptest.Rounds(500, 2000, 10_000) {
		if e, err := events.Next(bg); err != nil || e.Point != PointSignal {
			t.Fatalf("event %+v, %v", e, err)
		}
		if err := p.Continue(bg); err != nil {
			t.Fatal(err)
		}
	}
	over.Store(true)
	wg.Wait()
	if err := p.Release(bg); err != nil {
		t.Fatal(err)
	}
	out, state := g.Finish()
	if !state.Success() {
		t.Errorf("it ends with %v, %q", state, out)
	}
}
