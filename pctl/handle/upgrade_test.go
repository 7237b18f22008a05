package handle

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
)

func TestUpgradeMakesStale(t *testing.T) {
	for _, idle := range []bool{false, true} {
		w := newWorld(1)
		r := w.registry(t, 4)
		old := grab(t, r, 1)
		if idle {
			release(t, old)
		}
		c := newRein()
		h, err := r.Control(t.Context(), 1, c.open)
		if err != nil || h == old || h.ReadOnly() || h.Control() != c {
			t.Fatalf("Control = %+v, %v", h, err)
		}
		wantLen(t, r, 1, 0)
		shared := grab(t, r, 1)
		again, err := r.Control(t.Context(), 1, newRein().open)
		if shared != h || again != h || err != nil {
			t.Error("the control handle is not shared")
		}
		if !idle {
			if !old.Alive() || old.Space() == nil {
				t.Error("the stale handle is of no use to its holder")
			}
			release(t, old)
			wantLen(t, r, 1, 0)
		}
		release(t, h, shared)
		if c.released.Load() != 0 {
			t.Error("control ended while there is a reference to it")
		}
		release(t, again)
		if c.released.Load() != 1 {
			t.Error("control did not end")
		}
		wantLen(t, r, 0, 0)
	}
}

func TestFailedControlLeavesReaders(t *testing.T) {
	w := newWorld(1)
	r := w.registry(t, 4)
	old := grab(t, r, 1)
	refuse := func(context.Context) (Controlled, error) { return nil, os.ErrPermission }
	if _, err := r.Control(t.Context(), 1, refuse); err != os.ErrPermission {
		t.Errorf("Control: %v", err)
	}
	if h := grab(t, r, 1); h != old {
		t.Error("a refused upgrade has made the handle stale")
	} else {
		release(t, h)
	}
	release(t, old)
	wantLen(t, r, 1, 1)
}

func TestControlThatEnded(t *testing.T) {
	w := newWorld(1)
	r := w.registry(t, 1)
	c := newRein()
	h, err := r.Control(t.Context(), 1, c.open)
	if err != nil {
		t.Fatal(err)
	}
	c.Release() // lost, or released by its owner
	c.released.Store(0)
	c.done = make(chan struct{})
	close(c.done)
	next := grab(t, r, 1)
	if next == h {
		t.Error("a handle whose control has ended is handed out")
	}
	c.done = make(chan struct{})
	release(t, h, next)
	wantLen(t, r, 1, 1)
}

func TestAdopt(t *testing.T) {
	w := newWorld(1)
	r := w.registry(t, 1)
	c := newRein()
	h, err := r.Adopt(t.Context(), 1, c)
	if err != nil || h.Control() != c {
		t.Fatalf("Adopt = %+v, %v", h, err)
	}
	second := newRein()
	if _, err := r.Adopt(t.Context(), 1, second); !errors.Is(err, syscall.EEXIST) || second.released.Load() != 1 {
		t.Errorf("second Adopt: %v, released %d times", err, second.released.Load())
	}
	release(t, h)
	short := newRein() // control of a process that has ended already
	if h, err = r.Adopt(t.Context(), 99, short); err != nil || h.Alive() {
		t.Fatalf("Adopt of a process that has ended = %+v, %v", h, err)
	}
	release(t, h)
	if short.released.Load() != 1 {
		t.Error("its control was not released")
	}
	r.Close()
	late := newRein()
	if _, err := r.Adopt(t.Context(), 1, late); !errors.Is(err, os.ErrClosed) || late.released.Load() != 1 {
		t.Errorf("Adopt after Close: %v", err)
	}
}
