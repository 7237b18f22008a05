package handle

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// A world has made-up processes, for orders of events that are too rare with real
// ones.
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
	reins atomic.Int64 // how many controls it has
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
	return Unreadable(pid, nil), nil
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
	slow     chan struct{} // Release waits for it, unless nil
	within   error         // error for callers that cannot wait
}

func newRein() *rein                                     { return &rein{done: make(chan struct{})} }
func (c *rein) Space() *Space                            { return nil }
func (c *rein) Done() <-chan struct{}                    { return c.done }
func (c *rein) MayAwait() error                          { return c.within }
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
