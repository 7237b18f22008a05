package control

import (
	"sync"
	"sync/atomic"
)

// roster has the numbers of the target's threads, for other goroutines.
type roster struct {
	mu   sync.Mutex
	set  map[int]struct{}
	tids atomic.Pointer[[]int] // snapshot of the set, nil when it has changed
	gen  atomic.Uint64
}

// numbers returns the numbers of the threads. The slice must not be changed.
func (r *roster) numbers() []int {
	if p := r.tids.Load(); p != nil {
		return *p
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	tids := make([]int, 0, len(r.set))
	for tid := range r.set {
		tids = append(tids, tid)
	}
	r.tids.Store(&tids)
	return tids
}

func (r *roster) enlist(tid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set[tid] = struct{}{}
	r.changed()
}

func (r *roster) strike(tid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.set, tid)
	r.changed()
}

func (r *roster) changed() {
	r.tids.Store(nil)
	r.gen.Add(1)
}
