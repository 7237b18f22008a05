package handle

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
)

func TestShared(t *testing.T) {
	w := newWorld(1)
	r := w.registry(t, 1)
	a, b := grab(t, r, 1), grab(t, r, 1)
	if a != b || !a.ReadOnly() {
		t.Error("two grabs, two handles")
	}
	release(t, a)
	wantLen(t, r, 1, 0)
	release(t, b)
	wantLen(t, r, 1, 1)
	if c := grab(t, r, 1); c != a || w.looks.Load() != 1 {
		t.Errorf("the idle handle was not used: %d looks", w.looks.Load())
	} else {
		release(t, c)
	}
	defer func() {
		if recover() == nil {
			t.Error("one Release too many does not panic")
		}
	}()
	a.Release()
}

func TestLeastRecentlyUsedLeaves(t *testing.T) {
	w := newWorld(1, 2, 3)
	r := w.registry(t, 2)
	release(t, grab(t, r, 1))
	release(t, grab(t, r, 2))
	release(t, grab(t, r, 1)) // used again
	held := grab(t, r, 3)
	release(t, held) // 2 leaves
	wantLen(t, r, 2, 2)
	looks := w.looks.Load()
	release(t, grab(t, r, 1), grab(t, r, 3))
	if w.looks.Load() != looks {
		t.Error("1 or 3 had left")
	}
	release(t, grab(t, r, 2))
	if w.looks.Load() != looks+1 {
		t.Error("2 was still there")
	}
	if w.open.Load() != 2 {
		t.Errorf("%d identities are open, want 2", w.open.Load())
	}
}

// TestUsedAgain: the limit only counts idle handles, also if handles that were
// idle before are in use.
func TestUsedAgain(t *testing.T) {
	w := newWorld(1, 2, 3, 4)
	r := w.registry(t, 2)
	release(t, grab(t, r, 1), grab(t, r, 2))
	held := grab(t, r, 1)
	wantLen(t, r, 2, 1)
	release(t, grab(t, r, 3))
	wantLen(t, r, 3, 2)
	release(t, grab(t, r, 4)) // 2 leaves
	wantLen(t, r, 3, 2)
	if again := grab(t, r, 1); again != held {
		t.Error("a handle in use has left")
	} else {
		release(t, again)
	}
	wantLen(t, r, 3, 2)
	release(t, held) // 3 leaves
	wantLen(t, r, 2, 2)
	looks := w.looks.Load()
	release(t, grab(t, r, 1), grab(t, r, 4))
	if w.looks.Load() != looks {
		t.Error("1 or 4 had left")
	}
	if w.open.Load() != 2 {
		t.Errorf("%d identities are open, want 2", w.open.Load())
	}
}

// TestCachedGrabAllocatesNothing: a grab of a cached process, and its release, do not allocate.
func TestCachedGrabAllocatesNothing(t *testing.T) {
	w := newWorld(1)
	r := w.registry(t, 1)
	release(t, grab(t, r, 1))
	if n := testing.AllocsPerRun(100, func() { release(t, grab(t, r, 1)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestLimits(t *testing.T) {
	w := newWorld(1)
	r := w.registry(t, 0)
	release(t, grab(t, r, 1))
	wantLen(t, r, 0, 0)
	if w.open.Load() != 0 {
		t.Error("limit 0 keeps a handle")
	}
	if _, err := NewRegistry(-1, nil); err == nil {
		t.Error("a negative limit is accepted")
	}
}

func TestRecycledPID(t *testing.T) {
	w := newWorld(1)
	r := w.registry(t, 4)
	held := grab(t, r, 1)
	first := held.StartTime()
	w.bear(1)
	next := grab(t, r, 1)
	if next == held || next.StartTime() == first {
		t.Error("the number's new owner was taken for its old one")
	}
	if held.Alive() {
		t.Error("the old owner is alive")
	}
	release(t, held)
	wantLen(t, r, 1, 0)
	release(t, next)
	w.bear(1) // now of an idle one
	if h := grab(t, r, 1); h == next {
		t.Error("an idle handle was used for another process")
	} else {
		release(t, h)
	}
	w.kill(1)
	if _, err := r.Grab(t.Context(), 1); err != syscall.ESRCH {
		t.Errorf("Grab of no process: %v", err)
	}
}

// TestDeathEmptiesTheCache: the handle of a dead process leaves the cache without
// a grab.
func TestDeathEmptiesTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1, 2)
		r := w.registry(t, 4)
		release(t, grab(t, r, 1))
		held := grab(t, r, 2)
		wantLen(t, r, 2, 1)
		w.kill(1)
		w.kill(2)
		synctest.Wait()
		wantLen(t, r, 0, 0)
		if w.open.Load() != 1 {
			t.Errorf("%d identities are open, want the held one", w.open.Load())
		}
		release(t, held)
	})
}

func TestExecIsFollowed(t *testing.T) {
	w := newWorld(1)
	r := w.registry(t, 4)
	h := grab(t, r, 1)
	old := h.Space()
	release(t, h)
	w.live[1].state.Store(uint32(replaced))
	if again := grab(t, r, 1); again != h || again.Space() == old || w.spaces.Load() != 2 {
		t.Errorf("after an exec: same handle %v, same map %v", again == h, again.Space() == old)
	}
	w.live[1].state.Store(uint32(replaced))
	w.failing = syscall.EMFILE
	if _, err := r.Grab(t.Context(), 1); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("Grab whose refresh fails: %v", err)
	}
	w.failing = nil
	if next := grab(t, r, 1); next == h {
		t.Error("a handle with the map of an old image was handed out")
	} else {
		release(t, next)
	}
	release(t, h)
}

func TestClose(t *testing.T) {
	w := newWorld(1, 2)
	r := w.registry(t, 4)
	held := grab(t, r, 1)
	release(t, grab(t, r, 2))
	r.Close()
	r.Close()
	wantLen(t, r, 1, 0)
	if _, err := r.Grab(t.Context(), 1); err != os.ErrClosed {
		t.Errorf("Grab after Close: %v", err)
	}
	if held.Space() == nil {
		t.Error("a held handle is of no use after Close")
	}
	release(t, held)
	wantLen(t, r, 0, 0)
}
