package handle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
)

// A world is made-up processes, for the orders of events that real ones show
// too seldom.
type world struct {
	mu      sync.Mutex
	live    map[int]*being
	born    uint64
	looks   atomic.Int64 // times a process was identified
	spaces  atomic.Int64 // Spaces made
	open    atomic.Int64 // identities not closed
	failing error        // of making Spaces
	gate    chan struct{}
}

// A being is one process, and the identity of all handles on it.
type being struct {
	w     *world
	pid   int
	start uint64
	state atomic.Uint32
	ended chan struct{}
	reins atomic.Int64 // how many control it
}

func newWorld(pids ...int) *world {
	w := &world{live: map[int]*being{}}
	for _, pid := range pids {
		w.bear(pid)
	}
	return w
}

// bear makes a process with the number; the one that had it ends.
func (w *world) bear(pid int) *being {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old := w.live[pid]; old != nil {
		old.end()
	}
	w.born++
	b := &being{w: w, pid: pid, start: w.born, ended: make(chan struct{})}
	w.live[pid] = b
	return b
}

func (w *world) kill(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live[pid].end()
	delete(w.live, pid)
}

func (b *being) end() {
	b.state.Store(uint32(gone))
	close(b.ended)
}

func (b *being) check() condition { return condition(b.state.Load()) }
func (b *being) renew() error     { b.state.CompareAndSwap(uint32(replaced), uint32(same)); return nil }
func (b *being) close()           { b.w.open.Add(-1) }
func (b *being) wait(ctx context.Context) error {
	select {
	case <-b.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *world) identify(pid int) (identity, uint64, error) {
	w.looks.Add(1)
	if w.gate != nil {
		<-w.gate
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.live[pid]
	if b == nil {
		return nil, 0, syscall.ESRCH
	}
	w.open.Add(1)
	return b, b.start, nil
}

func (w *world) newSpace(pid int) (*Space, error) {
	w.spaces.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failing != nil {
		return nil, w.failing
	}
	s := &Space{pid: pid, source: &source{pid: pid}, jit: jitMap{pid: pid}}
	s.now.Store(&snapshot{})
	return s, nil
}

func (w *world) registry(t testing.TB, limit int) *Registry {
	t.Helper()
	r, err := NewRegistry(limit, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.identify, r.newSpace = w.identify, w.newSpace
	t.Cleanup(func() {
		r.Close()
		if n := w.open.Load(); n != 0 {
			t.Errorf("%d identities are still open", n)
		}
	})
	return r
}

// rein is made-up control.
type rein struct {
	done     chan struct{}
	released atomic.Int64
	slow     chan struct{} // Release waits for it, if there
}

func newRein() *rein                                     { return &rein{done: make(chan struct{})} }
func (c *rein) Space() *Space                            { return nil }
func (c *rein) Done() <-chan struct{}                    { return c.done }
func (c *rein) open(context.Context) (Controlled, error) { return c, nil }
func (c *rein) Release() error {
	if c.slow != nil {
		<-c.slow
	}
	if c.released.Add(1) > 1 {
		panic("released twice")
	}
	close(c.done)
	return nil
}

func grab(t *testing.T, r *Registry, pid int) *Handle {
	t.Helper()
	h, err := r.Grab(t.Context(), pid)
	if err != nil {
		t.Fatalf("Grab(%d): %v", pid, err)
	}
	return h
}

func release(t *testing.T, handles ...*Handle) {
	t.Helper()
	for _, h := range handles {
		if err := h.Release(); err != nil {
			t.Errorf("Release of %d: %v", h.pid, err)
		}
	}
}

func wantLen(t *testing.T, r *Registry, all, idle int) {
	t.Helper()
	if a, i := r.Len(); a != all || i != idle {
		t.Errorf("%d handles, %d idle; want %d, %d", a, i, all, idle)
	}
}

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
			t.Error("control ended while somebody holds it")
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
	if held.Alive() || !errors.Is(held.Refresh(), syscall.ESRCH) {
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

// TestDeathEmptiesTheCache: nobody has to grab for a dead process's handle to
// leave.
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

// TestGrabsMeet lets many want one pid while the first is at work.
func TestGrabsMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		w.gate = make(chan struct{})
		r := w.registry(t, 0) // what nobody holds is gone at once
		const n = 10
		handles := make(chan *Handle, n)
		for range n {
			go func() {
				h, err := r.Grab(context.Background(), 1)
				if err != nil {
					t.Error(err)
				}
				handles <- h
			}()
		}
		synctest.Wait() // one of them is at work
		ctx, cancel := context.WithCancel(t.Context())
		impatient := make(chan error)
		go func() {
			_, err := r.Grab(ctx, 1)
			impatient <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-impatient; err != context.Canceled {
			t.Errorf("an impatient Grab: %v", err)
		}
		close(w.gate)
		first := <-handles
		for range n - 1 {
			if h := <-handles; h != first {
				t.Error("grabs that met have different handles")
			}
		}
		if w.looks.Load() != 1 {
			t.Errorf("the work was done %d times", w.looks.Load())
		}
		for range n {
			release(t, first)
		}
		wantLen(t, r, 0, 0)
	})
}

// TestErrorsAreNotKept: those who waited share the error, the next one tries.
func TestErrorsAreNotKept(t *testing.T) {
	w := newWorld(1)
	r := w.registry(t, 1)
	w.failing = syscall.EACCES
	if _, err := r.Grab(t.Context(), 1); err != syscall.EACCES {
		t.Errorf("Grab: %v", err)
	}
	w.failing = nil
	release(t, grab(t, r, 1))
	func() {
		defer func() { recover() }()
		r.Control(t.Context(), 1, func(context.Context) (Controlled, error) { panic("open") })
	}()
	c := newRein()
	h, err := r.Control(t.Context(), 1, c.open) // does not wait for the one that panicked
	if err != nil {
		t.Fatal(err)
	}
	release(t, h)
}

// TestReaderWaitsForControl: a read-only grab that meets a control grab shares
// its handle, or reads by itself if control is refused; one that meets the
// end of control waits for it.
func TestReaderMeetsControl(t *testing.T) {
	for _, refused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(1)
			r := w.registry(t, 1)
			c := newRein()
			c.slow = make(chan struct{})
			attached := make(chan error)
			controlled := make(chan *Handle)
			go func() {
				h, _ := r.Control(t.Context(), 1, func(context.Context) (Controlled, error) { return c, <-attached })
				controlled <- h
			}()
			synctest.Wait()
			read := make(chan *Handle)
			go func() { read <- grab(t, r, 1) }()
			synctest.Wait()
			if refused {
				attached <- os.ErrPermission
				<-controlled
				h := <-read
				if !h.ReadOnly() {
					t.Error("the handle is not read-only")
				}
				release(t, h)
				return
			}
			attached <- nil
			h := <-controlled
			if <-read != h {
				t.Error("the reader does not share the control handle")
			}
			release(t, h)
			ended := make(chan error)
			go func() { ended <- h.Release() }()
			synctest.Wait()
			go func() { read <- grab(t, r, 1) }()
			synctest.Wait()
			select {
			case <-read:
				t.Error("a grab did not wait for the end of control")
			default:
			}
			close(c.slow)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if next := <-read; next == h || !next.ReadOnly() {
				t.Error("after the end of control its handle is still used")
			} else {
				release(t, next)
			}
		})
	}
}

func TestControlThatEnded(t *testing.T) {
	w := newWorld(1)
	r := w.registry(t, 1)
	c := newRein()
	h, err := r.Control(t.Context(), 1, c.open)
	if err != nil {
		t.Fatal(err)
	}
	c.Release() // lost, or let go by its owner
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
	short := newRein() // of a process that has ended already
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

// TestGrabReleaseUpgradeStorm has goroutines grab, upgrade and release a few
// pids while processes exec, die and get each other's numbers. Nobody may see
// a handle of another process than the one that had the number during the
// grab, control of a process may not overlap, and nothing may be left.
func TestGrabReleaseUpgradeStorm(t *testing.T) {
	rounds := 4000
	if testing.Short() {
		rounds = 500
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const pids, clients = 5, 8
	w := newWorld(0, 1, 2, 3, 4)
	r := w.registry(t, 2)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var fate sync.WaitGroup
	fate.Go(func() {
		random := rand.New(rand.NewPCG(seed, 99))
		for {
			select {
			case <-stop:
				return
			default:
			}
			pid := random.IntN(pids)
			if random.IntN(3) > 0 {
				w.bear(pid)
			} else {
				w.mu.Lock()
				w.live[pid].state.CompareAndSwap(uint32(same), uint32(replaced))
				w.mu.Unlock()
			}
		}
	})
	for n := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		wg.Go(func() {
			for range rounds {
				pid := random.IntN(pids)
				w.mu.Lock()
				before := w.live[pid].start
				w.mu.Unlock()
				var h *Handle
				var err error
				if random.IntN(3) == 0 {
					h, err = r.Control(context.Background(), pid, func(context.Context) (Controlled, error) {
						w.mu.Lock()
						defer w.mu.Unlock()
						b := w.live[pid]
						if n := b.reins.Add(1); n != 1 {
							return nil, fmt.Errorf("%d controls of %d at once", n, pid)
						}
						return &turn{rein: newRein(), of: b}, nil
					})
				} else {
					h, err = r.Grab(context.Background(), pid)
				}
				if errors.Is(err, syscall.ESRCH) {
					continue // it ended in between
				}
				if err != nil {
					t.Error(err)
					return
				}
				if h.pid != pid || h.start < before {
					t.Errorf("grabbed %d (start %d), want %d (start %d or later)", h.pid, h.start, pid, before)
				}
				if err := h.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	fate.Wait()
}

// A turn is control that is counted.
type turn struct {
	*rein
	of *being
}

func (c *turn) Release() error {
	c.of.reins.Add(-1)
	return c.rein.Release()
}
