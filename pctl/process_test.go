package pctl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestPause copies registers and stacks of every thread and resumes.
func TestPause(t *testing.T) {
	g, truth := startSpin(t)
	g.AwaitWork(1)
	p := grab(t, session(t, nil), g.PID, nil)
	var threads []*Thread
	var snap *Snapshot
	err := p.Pause(bg, func(s *Snapshot) error {
		before := truth.Work()
		s.CopyStacks()
		snap, threads = s, s.Threads()
		for _, th := range threads {
			if frames, err := th.Stack(); err != nil || len(frames) == 0 {
				t.Errorf("thread %d while it stands still: %d frames, %v", th.TID, len(frames), err)
			}
		}
		if truth.Work() != before {
			t.Error("it counts while it is paused")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	g.AwaitWork(1)
	if len(threads) != 3 {
		t.Fatalf("%d threads", len(threads))
	}
	spinning := 0
	for _, th := range threads {
		frames, err := th.Stack()
		if err != nil {
			t.Errorf("thread %d: %v", th.TID, err)
		}
		if th.Name() != "spin" {
			t.Errorf("thread %d is called %q", th.TID, th.Name())
		}
		if slices.ContainsFunc(frames, func(f Frame) bool { return f.Func == "spin" && strings.HasSuffix(f.File, "spin.c") }) {
			spinning++
		}
	}
	if spinning == 0 { // a thread may have been born and not have come there yet
		t.Error("no thread spins")
	}
	if err := snap.SetRegisters(g.PID, &Registers{}); !errors.Is(err, ErrResumed) {
		t.Errorf("SetRegisters later: %v", err)
	}
	if _, err := snap.ReadAt(make([]byte, 1), 0); !errors.Is(err, ErrResumed) {
		t.Errorf("ReadAt later: %v", err)
	}
}

// TestPauseFails: errors and panics of the function reach the caller, and the
// process runs on.
func TestPauseFails(t *testing.T) {
	g, _ := startSpin(t)
	p := grab(t, session(t, nil), g.PID, nil)
	odd := errors.New("odd")
	if err := p.Pause(bg, func(*Snapshot) error { return odd }); err != odd {
		t.Errorf("error %v", err)
	}
	func() {
		defer func() {
			if r := recover(); r != odd {
				t.Errorf("panic %v", r)
			}
		}()
		p.Pause(bg, func(*Snapshot) error { panic(odd) })
	}()
	g.AwaitWork(1)
	for op, f := range map[string]func() error{
		"pause":    func() error { return p.Pause(bg, func(*Snapshot) error { return nil }) },
		"continue": func() error { return p.Continue(bg) },
		"release":  func() error { return p.Release(bg) },
		"close":    func() error { return p.Close() },
	} {
		if err := p.Pause(bg, func(*Snapshot) error { return f() }); !errors.Is(err, ErrOnControl) {
			t.Errorf("%s within a pause: %v", op, err)
		}
	}
	g.AwaitWork(1)
}

// TestHeldAtGrab: streams begin with the present state, and Continue continues.
func TestHeldAtGrab(t *testing.T) {
	g, _ := startSpin(t)
	p := grab(t, session(t, nil), g.PID, &GrabOptions{Stop: []Point{PointGrab}})
	events := p.Events(&EventOptions{Kinds: []Kind{KindGrabbed, KindStopped, KindContinued}})
	for _, want := range []Event{
		{Kind: KindGrabbed, Threads: 3},
		{Kind: KindStopped, Point: PointGrab, Threads: 3},
	} {
		e, err := events.Next(bg)
		if err != nil || e.Kind != want.Kind || e.Threads != want.Threads || e.Point != want.Point || e.PID != g.PID || e.Time.IsZero() {
			t.Fatalf("event %+v, %v; want %+v", e, err, want)
		}
	}
	if at, held := p.Held(); !held || at != PointGrab {
		t.Errorf("held %v at %v", held, at)
	}
	if err := p.Continue(bg); err != nil {
		t.Fatal(err)
	}
	if e, err := events.Next(bg); err != nil || e.Kind != KindContinued {
		t.Errorf("event %+v, %v", e, err)
	}
	if err := p.Continue(bg); !errors.Is(err, ErrNotHeld) {
		t.Errorf("second Continue: %v", err)
	}
	g.AwaitWork(1)
	if err := events.Close(); err != nil {
		t.Error(err)
	}
	if _, err := events.Next(bg); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Next of a closed stream: %v", err)
	}
}

// TestEndIsToldToEverybody, early and late, once.
func TestEndIsToldToEverybody(t *testing.T) {
	g, _ := startSpin(t)
	p := grab(t, session(t, nil), g.PID, nil)
	early := p.Events(&EventOptions{Kinds: []Kind{KindUndead}})
	g.Signal(syscall.SIGKILL)
	<-p.Done()
	late := p.Events(&EventOptions{Kinds: []Kind{KindUndead}})
	for name, events := range map[string]*Events{"early": early, "late": late} {
		n := 0
		for e, err := range events.All(bg) {
			if err != nil || e.Kind != KindUndead || e.Exited || e.Signal != int(syscall.SIGKILL) {
				t.Errorf("%s: %+v, %v", name, e, err)
			}
			n++
		}
		if n != 1 {
			t.Errorf("%s: %d events", name, n)
		}
	}
	if err := p.Pause(bg, nil); !errors.Is(err, ErrEnded) {
		t.Errorf("Pause of an ended process: %v", err)
	}
	if err := p.Release(bg); err != nil {
		t.Errorf("Release of an ended process: %v", err)
	}
}

// TestBreak: every call is a hit, memory shows no trap, and handlers may change
// registers and breakpoints.
func TestBreak(t *testing.T) {
	g, _ := startCalls(t)
	s := session(t, nil)
	p := grab(t, s, g.PID, nil)
	addr := symbol(t, p, "f_push")
	before := make([]byte, 16)
	if _, err := p.ReadAt(before, int64(addr)); err != nil {
		t.Fatal(err)
	}
	var seen, inner []byte
	var once *Breakpoint
	hit := make(chan *Thread, 1)
	b, err := p.Break(bg, Where{Addr: addr}, func(h *Hit) {
		if h.Count != 1 {
			return
		}
		inner = make([]byte, len(before))
		h.ReadAt(inner, int64(h.Addr))
		var err error
		if once, err = p.Break(bg, Where{Addr: addr}, func(h *Hit) { h.Breakpoint.Remove(bg) }); err != nil {
			t.Error(err)
		}
		if err := p.Close(); !errors.Is(err, ErrOnControl) {
			t.Errorf("Close within a handler: %v", err)
		}
		hit <- h.Thread()
	})
	if err != nil {
		t.Fatal(err)
	}
	th := <-hit
	seen = make([]byte, len(before))
	if _, err := p.ReadAt(seen, int64(addr)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(seen, before) || !bytes.Equal(inner, before) {
		t.Errorf("memory shows % x and % x, want % x", seen, inner, before)
	}
	// The caller moves the stack pointer in a way that its call frame
	// information does not know, so the stack may be cut there.
	frames, err := th.Stack()
	if err != nil && !errors.Is(err, ErrCut) || len(frames) < 2 || frames[0].Func != "f_push" || frames[0].Offset != 0 ||
		frames[1].Func != "call" {
		t.Errorf("stack of the hit: %v, %v", frames, err)
	}
	g.Stdin.Close()
	e, err := p.Wait(bg)
	if err != nil || !e.Exited || e.Code != 0 {
		t.Errorf("it ends with %+v, %v", e, err)
	}
	if n := b.Hits(); n < 2 {
		t.Errorf("%d hits", n)
	}
	if once == nil || once.Hits() != 1 {
		t.Errorf("the breakpoint that removed itself: %+v", once)
	}
}

// TestCutCallKeepsItsName: a call that stops have interrupted, and that the kernel continues by
// restart_syscall(2), keeps its name.
func TestCutCallKeepsItsName(t *testing.T) {
	g := ptest.Start(t, "sleep", "1000")
	p := grab(t, session(t, nil), g.PID, nil)
	for range 3 {
		g.WaitFor("the call", func() bool {
			call, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", g.PID))
			return err == nil && string(call) != "running\n"
		})
		var name string
		if err := p.Pause(bg, func(s *Snapshot) error {
			name, _ = s.Threads()[0].Syscall()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if name != "clock_nanosleep" {
			t.Errorf("sleep is in %q", name)
		}
	}
}

// TestBreakHolds asks for a rendezvous from a handler.
func TestBreakHolds(t *testing.T) {
	g, truth := startCalls(t)
	p := grab(t, session(t, nil), g.PID, &GrabOptions{Trap: TrapInt3}) // uprobes stay in the text
	events := p.Events(&EventOptions{Kinds: []Kind{KindStopped}})
	b, err := p.Break(bg, Where{Symbol: "f_push"}, (*Hit).Hold)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if e, err := events.Next(bg); err != nil || e.Kind != KindStopped {
			t.Fatalf("event %+v, %v", e, err)
		}
		work := truth.Work()
		err := p.Pause(bg, func(s *Snapshot) error {
			for _, th := range s.Threads() {
				if slices.Contains(b.Addrs(), th.Registers.PC()) {
					return nil
				}
			}
			return errors.New("no thread stands at the breakpoint")
		})
		if err != nil {
			t.Error(err)
		}
		ptest.TextIntact(t, g.PID)
		if truth.Work() != work {
			t.Error("it counts while it is held")
		}
		if err := p.Continue(bg); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Remove(bg); err != nil {
		t.Error(err)
	}
	if _, held := p.Held(); held {
		p.Continue(bg)
	}
	hits := b.Hits()
	g.AwaitWork(10)
	if b.Hits() != hits {
		t.Error("hits after the breakpoint was removed")
	}
}

// TestClosingRemovesItsBreakpoints, and not those of others.
func TestClosingRemovesItsBreakpoints(t *testing.T) {
	g, _ := startCalls(t)
	s := session(t, nil)
	a, b := grab(t, s, g.PID, nil), grab(t, s, g.PID, nil)
	mine, err := a.Break(bg, Where{Symbol: "f_push"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	others, err := b.Break(bg, Where{Symbol: "f_push"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	g.WaitFor("hits", func() bool { return mine.Hits() > 0 && others.Hits() > 0 })
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	left, at := mine.Hits(), others.Hits()
	g.WaitFor("more hits", func() bool { return others.Hits() > at })
	if mine.Hits() != left {
		t.Error("hits after Close")
	}
	if err := mine.Remove(bg); err != nil {
		t.Errorf("Remove after Close: %v", err)
	}
	b.Close()
	g.AwaitWork(1)
}

// symbol returns the address of a function of the process.
func symbol(t *testing.T, p *Process, name string) uint64 {
	t.Helper()
	for _, s := range p.space().ByName("", name) {
		return s.Addr
	}
	t.Fatalf("no symbol %s", name)
	return 0
}

// TestLookup goes from a name to an address and back.
func TestLookup(t *testing.T) {
	g, _ := startCalls(t)
	p := grab(t, session(t, nil), g.PID, &GrabOptions{ReadOnly: true})
	addr := symbol(t, p, "f_push")
	frames := p.Lookup(addr + 1)
	if len(frames) == 0 || frames[len(frames)-1].Func != "f_push" || frames[len(frames)-1].Offset != 1 {
		t.Errorf("Lookup(%#x) = %+v", addr+1, frames)
	}
	if frames := p.Lookup(1); len(frames) != 1 || frames[0].Func != "" || frames[0].PC != 1 {
		t.Errorf("Lookup(1) = %+v", frames)
	}
}
